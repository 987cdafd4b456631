#include "tools/ttexport/row_shard.hpp"

#include <utility>

namespace ttc::tools {

void RowShard::take_into(LaneShards::Product& product) {
  auto& rows = static_cast<Rows&>(product);
  rows.bytes = rows_.take_rows(std::move(rows.bytes));
}

void RowShard::put(LaneShards::Product& product, size_t from, size_t to) {
  auto& rows = static_cast<Rows&>(product);
  const std::string_view part(rows.bytes.data() + from, to - from);
  if (out_.has_places())
    out_.place(rows.placed, part);
  else
    out_.append_rows(part);
}

void RowShard::put_all(LaneShards::Product& product, unsigned thread) {
  if (out_.has_places()) out_.write(static_cast<Rows&>(product).placed, thread);
}

bool RowShard::in_use(const LaneShards::Product& product) {
  return out_.has_places() && !out_.workers()->done(static_cast<const Rows&>(product).placed);
}

void RowShard::wait(LaneShards::Product& product) {
  if (out_.has_places()) out_.workers()->wait(static_cast<Rows&>(product).placed);
}

}  // namespace ttc::tools
