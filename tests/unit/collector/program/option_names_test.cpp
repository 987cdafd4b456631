#include "collector/program/option_names.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "collector/program/nearest_name.hpp"

namespace ttc::program {
namespace {

struct OptionNames : testing::Test {
  CLI::App app{"A program.", "tt"};
  std::vector<std::string> taken;
  std::string format;
  OptionNames() {
    app.add_option("--name", taken);
    CLI::App* ops = app.add_subcommand("ops");
    ops->add_option("input,--from", taken);
    ops->add_option("--format", format)->check(one_of({"perfetto", "chrome"}));
    ops->add_flag("-q,--quiet");
    app.add_subcommand("run")->prefix_command();
  }
  std::string said(std::vector<std::string> words) { return unknown_word(app, words); }
};

TEST_F(OptionNames, an_option_is_looked_for_in_its_own_command) {
  EXPECT_EQ(said({"ops", "--formt", "x"}), "option --formt is not known to tt ops; did you mean --format?");
  EXPECT_EQ(said({"--format", "x", "ops"}), "option --format is not known to tt; tt --help lists them");
  EXPECT_EQ(said({"--nam=x"}), "option --nam is not known to tt; did you mean --name?");
  EXPECT_EQ(said({"ops", "--format=x", "-q", "input"}), "");
}

TEST_F(OptionNames, a_subcommand_is_looked_for_where_nothing_else_is_taken) {
  EXPECT_EQ(said({"opz"}), "'opz' is no subcommand of tt; did you mean ops?");
  EXPECT_EQ(said({"quite-another"}), "'quite-another' is no subcommand of tt; tt --help lists them");
  EXPECT_EQ(said({"ops", "opz"}), "");  // an input
}

TEST_F(OptionNames, values_other_programs_words_and_help_are_left_alone) {
  EXPECT_EQ(said({"--name", "--unknown"}), "");
  EXPECT_EQ(said({"run", "--unknown", "python"}), "");
  EXPECT_EQ(said({"ops", "--", "--unknown"}), "");
  EXPECT_EQ(said({"ops", "--help", "--unknown"}), "");
}

TEST_F(OptionNames, one_of_some_names_is_refused_with_the_near_one) {
  const auto refused = [&](const char* value) {
    try {
      app.parse(std::vector<std::string>{value, "--format", "ops"});  // CLI11 takes them from the end
    } catch (const CLI::ValidationError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused("perfeto"),
            "--format: there is no 'perfeto'; did you mean perfetto? it takes perfetto, chrome");
  EXPECT_EQ(refused("xml"), "--format: there is no 'xml'; it takes perfetto, chrome");
  EXPECT_EQ(refused("chrome"), "");
}

TEST(NearestName, a_front_counts_where_only_one_name_has_it) {
  const std::vector<std::string> names = {"2025-06", "--signpost", "--signposts-file"};
  EXPECT_EQ(nearest_name("2025", names), "2025-06");
  EXPECT_EQ(nearest_name("--sign", names), "");
  EXPECT_EQ(nearest_name("--signpos", names), "--signpost");
  EXPECT_EQ(nearest_name("", names), "");
}

TEST(NearestName, two_letters_swapped_are_one_mistake) {
  const std::vector<std::string> names = {"--from", "--format"};
  EXPECT_EQ(letters_apart("--fromat", "--format"), 1u);
  EXPECT_EQ(nearest_name("--fromat", names), "--format");
  EXPECT_EQ(letters_apart("abc", "cab"), 2u);
  EXPECT_EQ(letters_apart("", "abc"), 3u);
}

}  // namespace
}  // namespace ttc::program
