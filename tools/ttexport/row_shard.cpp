#include "tools/ttexport/row_shard.hpp"

#include <utility>

namespace ttc::tools {

void RowShard::take_into(LaneShards::Product& product) {
  auto& rows = static_cast<Rows&>(product);
  rows.bytes = rows_.take_rows(std::move(rows.bytes));
}

void RowShard::put(LaneShards::Product& product, size_t from, size_t to) {
  out_.append_rows({static_cast<Rows&>(product).bytes.data() + from, to - from});
}

}  // namespace ttc::tools
