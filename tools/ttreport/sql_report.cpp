// ttreport sql: queries a database of `ttexport --format sqlite`. It cannot write.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/report/text/text_table.hpp"
#include "tools/sql/database.hpp"
#include "tools/ttreport/report.hpp"

namespace ttc::tools {
namespace {

using json = nlohmann::ordered_json;

constexpr size_t kMostWidth = 60;  // of a cell in a table for people

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

class SqlReport : public Report {
 public:
  void options(CLI::App& command) override {
    command.add_option("FILE", file_, "database of `ttexport --format sqlite`")->required();
    command.add_option("QUERY", query_, "SELECT ...; without it the tables and views with their columns");
    command.add_flag("--csv", csv_, "as CSV with a header");
    command.add_flag("--json", json_, "a JSON object a row and line");
  }

  int run() override {
    if (csv_ && json_) throw program::UsageError("--csv and --json exclude each other");
    try {
      Database database(file_, Database::Use::read);
      return answer(database);
    } catch (const SqlError& e) {
      throw SourceError(file_ + ": " + e.what());
    }
  }

 private:
  int answer(Database& database) {
    const std::string query =
        !query_.empty() ? query_
                        : "SELECT m.type, m.name, group_concat(c.name, ' ') AS columns FROM sqlite_schema m, "
                          "pragma_table_info(m.name) c WHERE m.type IN ('table', 'view') GROUP BY m.name "
                          "ORDER BY m.type, m.name";
    // A file that is no database fails here, and not as a mistake in the query.
    database.prepare("SELECT count(*) FROM sqlite_schema").next();
    std::string rest;
    try {
      Statement statement = database.prepare(query, &rest);
      if (rest.find_first_not_of(" \t\r\n;") != std::string::npos)
        throw program::UsageError("only one statement is allowed; after it there is: " + rest);
      if (statement.columns() == 0)
        throw program::UsageError("'" + query + "' returns no rows; use SELECT ...");
      json_ ? print_json(statement) : csv_ ? print_csv(statement) : print_table(statement);
    } catch (const SqlError& e) {
      if (!e.wrong_statement) throw;
      throw program::UsageError(std::string(e.what()) + "; `ttreport sql " + file_ +
                                "` shows tables and columns");
    }
    return ReportExit::kOk;
  }

  static void print_json(Statement& statement) {
    while (statement.next()) {
      json row;
      for (int c = 0; c < statement.columns(); ++c) {
        json& cell = row[statement.name(c)];
        const std::string text = statement.text(c);
        if (statement.is_null(c)) continue;
        // Numbers as SQLite writes them.
        cell = statement.is_text(c) ? json(text) : json::parse(text, nullptr, false);
        if (cell.is_discarded()) cell = text;  // infinity
      }
      std::printf("%s\n", program::json_text(row).c_str());
    }
  }
  static void print_csv(Statement& statement) {
    for (int c = 0; c < statement.columns(); ++c)
      std::printf("%s%s", c ? "," : "", csv_cell(statement.name(c)).c_str());
    std::printf("\n");
    while (statement.next()) {
      for (int c = 0; c < statement.columns(); ++c)
        std::printf("%s%s", c ? "," : "", csv_cell(statement.text(c)).c_str());
      std::printf("\n");
    }
  }
  static void print_table(Statement& statement) {
    std::vector<report::TextColumn> columns;
    columns.reserve(static_cast<size_t>(statement.columns()));
    bool more = statement.next();
    for (int c = 0; c < statement.columns(); ++c)
      columns.push_back({statement.name(c), more && (statement.is_text(c) || statement.is_null(c)), 0, 0});
    report::TextTable table(columns);
    for (; more; more = statement.next()) {
      std::vector<report::TextCell> cells;
      cells.reserve(static_cast<size_t>(statement.columns()));
      for (int c = 0; c < statement.columns(); ++c)
        cells.push_back({report::shortened(statement.text(c), kMostWidth)});
      table.row(std::move(cells));
    }
    table.write(0, false, [](std::string_view line) { std::fwrite(line.data(), 1, line.size(), stdout); });
  }

  std::string file_, query_;
  bool csv_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Report> make_sql_report() {
  return std::make_unique<SqlReport>();
}

}  // namespace ttc::tools
