#include "collector/clock/clock_models.hpp"

namespace ttc::collect {

void ClockModels::grow(size_t domains) {
  while (models_.size() < domains)
    models_.emplace_back(ClockRules{}, static_cast<uint8_t>(models_.size()), first_era_);
}

void ClockModels::take(std::span<const ClockInput> inputs) {
  for (const ClockInput& input : inputs) switch (input.kind) {
      case ClockInput::Kind::read:
        models_[input.domain].add({&input.read, 1});
        break;
      case ClockInput::Kind::seen:
        models_[input.domain].seen(input.read.cycles, input.read.after);
        break;
      case ClockInput::Kind::reference:
        referred_at_ = input.read.after;
        for (ClockEstimator& model : models_) model.reference(input.read);
        break;
    }
}

void ClockModels::finish() {
  for (ClockEstimator& model : models_) model.finish();
}

ClockModels::Segments ClockModels::take_final() {
  Segments segments;
  for (ClockEstimator& model : models_) segments.push_back(model.take_final());
  return segments;
}

ClockModels::Segments ClockModels::provisional() {
  Segments segments;
  for (ClockEstimator& model : models_) segments.push_back(model.provisional());
  return segments;
}

ClockModels::Known ClockModels::known() const {
  Known known;
  for (const ClockEstimator& model : models_)
    known.domains.push_back({model.stats(), model.hz(), model.dwell_ns(), model.last_moved(), model.era()});
  if (referred_at_ != 0) known.crystal = models_.front().crystal(referred_at_);
  known.steps.assign(models_.front().steps().begin(), models_.front().steps().end());
  return known;
}

}  // namespace ttc::collect
