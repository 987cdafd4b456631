// The architectures on which the tests of kmd_card_*_test.cpp run.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/driver_iface/kmd/kmd_card_fixture.hpp"

namespace ttc::card {
namespace {

INSTANTIATE_TEST_SUITE_P(Archs, KmdCard, testing::Values("wormhole_b0", "blackhole"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace ttc::card
