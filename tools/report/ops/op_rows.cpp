#include "tools/report/ops/op_rows.hpp"

#include <cstring>
#include <string_view>
#include <type_traits>

namespace ttc::report {
namespace {

template <class T>
void pack_raw(std::string& to, const T& value) {
  static_assert(std::is_arithmetic_v<T>);
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct Pack {
  std::string& to;
  void operator()(const std::string& text) const {
    pack_raw(to, static_cast<uint32_t>(text.size()));
    to += text;
  }
  template <class T>
  void operator()(const std::optional<T>& value) const {
    to += static_cast<char>(value.has_value());
    if (value) pack_raw(to, *value);
  }
  void operator()(const uint64_t& value) const { pack_raw(to, value); }
};

struct Unpack {
  std::string_view from;
  template <class T>
  T raw() {
    T value;
    std::memcpy(&value, from.data(), sizeof value);
    from.remove_prefix(sizeof value);
    return value;
  }
  void operator()(std::string& text) {
    const auto size = raw<uint32_t>();
    text.assign(from.substr(0, size));
    from.remove_prefix(size);
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    if (raw<char>()) value = raw<T>();
  }
  void operator()(uint64_t& value) { value = raw<uint64_t>(); }
};

}  // namespace

void OpRows::push_back(const OpRow& row) {
  std::string packed;
  each_field(row, Pack{packed});
  places_.push_back({bytes_->append(packed), static_cast<uint32_t>(packed.size())});
}

OpRow OpRows::operator[](size_t i) const {
  OpRow row;
  const Place place = places_[i];
  each_field(row, Unpack{bytes_->at(place.at, place.size)});
  return row;
}

}  // namespace ttc::report
