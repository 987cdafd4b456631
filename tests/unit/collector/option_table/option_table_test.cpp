// What completions and man pages are made of, and text that each of their languages would take for its own.
#include "collector/option_table/option_table.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace ttc::program {
namespace {

struct Tables : testing::Test {
  Tables() {
    app.footer("Exit codes: 0 ok,\n2 wrong usage");
    app.add_option("-o,--output", text, "file: 'quoted' [NAME]\n- is standard output")->capture_default_str();
    app.add_option("--form", text, "a_b *c*\none: the first\ntwo: the second")
        ->check(CLI::IsMember({"one", "two"}));
    app.add_flag("--quiet,!--no-quiet", flag, "- nothing is printed");
    app.add_option("--hidden", text)->group("");
    CLI::App* run = app.add_subcommand("run", "runs something");
    run->add_option("file", text, "what is run")->required();
    run->add_option("--port", text, "of it")->expected(0, 1);
  }
  std::string text = "-";
  bool flag = false;
  CLI::App app{"Does it.", "prog"};
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Tables, rows_are_what_the_parser_has) {
  const CommandRows rows = rows_of(app);
  ASSERT_EQ(rows.options.size(), 4u);  // with --help, without what is hidden
  EXPECT_EQ(rows.options[1].names, (std::vector<std::string>{"--output", "-o"}));
  EXPECT_EQ(rows.options[1].value, Value::kRequired);
  EXPECT_EQ(rows.options[1].default_value, "-");
  EXPECT_EQ(rows.options[2].choices, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(rows.options[3].value, Value::kNone);
  ASSERT_EQ(rows.commands.size(), 1u);
  EXPECT_EQ(rows.commands[0].positionals.at(0).names.at(0), "file");
  EXPECT_TRUE(rows.commands[0].positionals[0].required);
  EXPECT_EQ(rows.commands[0].options.at(1).value, Value::kOptional);
}

TEST_F(Tables, syntax_of_the_shells_within_a_description_is_escaped) {
  EXPECT_TRUE(has(option_table(app, "zsh"), R"('*--output=[file\: '\''quoted'\'' \[NAME\]]:TEXT:_files')"));
  EXPECT_TRUE(
      has(option_table(app, "fish"),
          R"(complete -c prog -n __fish_use_subcommand -l output -s o -r -d 'file: \'quoted\' [NAME]')"));
  const std::string bash = option_table(app, "bash");
  EXPECT_TRUE(has(bash, "    :--form) values='one two' ;;\n"));
  EXPECT_TRUE(has(bash, ":--output|:-o) values=- ;;\n"));
  EXPECT_FALSE(has(bash, "run:--port)"));  // its value follows '='
}

TEST_F(Tables, a_man_page_takes_text_as_it_is) {
  const std::string page = option_table(app, "scdoc");
  EXPECT_TRUE(
      has(page, "*--output*, *-o* _TEXT_\n\tfile: 'quoted' [NAME] - is standard output.\n\n\tDefault: -.\n"));
  EXPECT_TRUE(has(page, "\ta\\_b \\*c\\*\n\n\tone: the first\n\n\ttwo: the second.\n"));
  EXPECT_TRUE(has(page, "\t\\- nothing is printed.\n"));  // not an entry of a list
  EXPECT_TRUE(has(page, "## prog run\n\nruns something.\n\n_file_\n\twhat is run.\n\n\tMust be given.\n"));
  EXPECT_TRUE(has(page, "# EXIT STATUS\n\nExit codes: 0 ok, 2 wrong usage\n"));
}

TEST(BeginOf, is_cut_behind_a_word_of_the_first_line) {
  EXPECT_EQ(begin_of("short:\nmore"), "short");
  EXPECT_EQ(begin_of(std::string(70, 'a') + " bcd"), std::string(70, 'a'));
  EXPECT_EQ(begin_of(""), "");
  EXPECT_FALSE(begin_of(std::string(100, 'a')).empty());
}

}  // namespace
}  // namespace ttc::program
