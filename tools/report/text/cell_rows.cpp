#include "tools/report/text/cell_rows.hpp"

#include <cstring>

namespace ttc::report {

// Each cell: its length in four bytes, its text.
void CellRows::push_back(const Row& row) {
  std::string packed;
  for (const std::string& cell : row) {
    const auto size = static_cast<uint32_t>(cell.size());
    packed.append(reinterpret_cast<const char*>(&size), sizeof size);
    packed += cell;
  }
  places_.push_back(
      {bytes_->append(packed), static_cast<uint32_t>(packed.size()), static_cast<uint32_t>(row.size())});
}

CellRows::Row CellRows::operator[](size_t i) const {
  const Place place = places_[i];
  std::string_view packed = bytes_->at(place.at, place.size);
  Row row(place.cells);
  for (std::string& cell : row) {
    uint32_t size = 0;
    std::memcpy(&size, packed.data(), sizeof size);
    cell.assign(packed.substr(sizeof size, size));
    packed.remove_prefix(sizeof size + size);
  }
  return row;
}

}  // namespace ttc::report
