#include "tools/fleet/agent/publisher.hpp"

namespace ttc::fleet {

template <class Of>
bool Publisher::spool(Of& of) {
  if (of.rows.empty()) return false;
  const SpoolEntry entry{
      {session_, epoch_, Of::kind, of.position}, static_cast<uint32_t>(of.rows.size()), of.from_ns, of.to_ns};
  spool_.append(entry, encode_batch(Of::kind, session_, epoch_, of.position, of.rows));
  if (Of::kind == RowKind::ops) spool_.note({session_, of.to_ns, epoch_});
  of.position += of.rows.size();
  of.rows.clear();
  of.from_ns = ~uint64_t{0}, of.to_ns = 0;
  return true;
}

bool Publisher::flush() {
  const std::lock_guard lock(mutex_);
  return std::apply([&](auto&... kind) { return (int{spool(kind)} + ...) != 0; }, kinds_);
}

uint64_t Publisher::made() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

}  // namespace ttc::fleet
