#include "collector/continuity/id_width.hpp"

namespace ttc::collect {
namespace {

class CompareIds {
 public:
  static bool sat_out_ok(uint32_t) { return false; }  // BRISC opens every launch that its core records
  // A launch that pushed in its middle has several frames with one id: the last one counts.
  bool take(const markers::VerifiedFrame& frame) {
    if (frame.words[device::kFwEndWord] == device::kUnsetWord) return true;
    const uint32_t word = frame.words[device::kIdHost], count = word & 0xffff, id = word >> 16;
    const bool own = count == launch_;
    const bool next = count == ((before_ + 1) & 0xffff);
    evidence.looks_narrow = own && id != 0 && (launch_ == 0 || evidence.looks_narrow);
    if (launch_ >= 1 && own && own_before_ && id != 0)
      evidence.width = IdWidth::narrow;
    else if ((launch_ >= 2 && !next) || (launch_ >= 1 && id == 0 && !own))
      evidence.width = IdWidth::wide;
    own_before_ = own;
    before_ = count;
    ++launch_;
    return evidence.width == IdWidth::unproven;
  }

  IdEvidence evidence;

 private:
  uint32_t launch_ = 0;
  uint32_t before_ = 0;  // the count of the launch before
  bool own_before_ = false;
};

}  // namespace

IdEvidence id_width(std::span<const uint32_t> log, const markers::Lane& brisc, bool cut) {
  CompareIds compare;
  markers::FrameDigest nothing_known;
  markers::verify_frames(log, brisc, {}, cut, nothing_known, compare);
  return compare.evidence;
}

}  // namespace ttc::collect
