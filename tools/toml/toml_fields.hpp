// Files of TOML that users write: every field is one that is known and holds what it must, or the first mistake is one sentence with
// the file's name and the line. A file's own reader derives from this and has a function a table.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#define TOML_HEADER_ONLY 1
// The parser asserts what it then tests with a sentence of its own (`[[.name]]`), and takes it for granted where NDEBUG is defined.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace ttc::tools {

// "NAME:LINE: what".
struct TomlError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class TomlFields {
 public:
  explicit TomlFields(std::string name) : name_(std::move(name)) {}

  // Characters beyond ASCII are allowed in comments only. Throws TomlError, as everything here does.
  toml::table parsed(std::string_view text) const;

 protected:
  using Fields = std::map<std::string_view, std::function<void(const toml::node&)>>;

  [[noreturn]] void fail(const toml::source_region& where, const std::string& what) const;
  [[noreturn]] void fail(const toml::node& node, const std::string& what) const { fail(node.source(), what); }

  const std::string& name() const { return name_; }
  void fields(const toml::table& table, const Fields& known) const;
  const toml::table& table(const toml::node& n, const std::string& field) const;
  std::string text(const toml::node& n, const std::string& field) const;  // not empty
  bool flag(const toml::node& n, const std::string& field) const;
  double number(const toml::node& n, const std::string& field, double least, double most) const;
  template <class T>
  T whole(const toml::node& n, const std::string& field, int64_t least, int64_t most) const {
    return static_cast<T>(whole_number(n, field, least, most));
  }

 private:
  int64_t whole_number(const toml::node& n, const std::string& field, int64_t least, int64_t most) const;

  std::string name_;
};

}  // namespace ttc::tools
