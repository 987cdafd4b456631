// A shard of a format that writes each lane's frames by themselves: its rows lie in memory until they are next in the output.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "tools/feed/lane_shards.hpp"

namespace ttc::tools {

class RowShard : public LaneShards::Side {
 public:
  using MakeFormat = std::function<std::unique_ptr<Format>(Output& rows)>;
  RowShard(const MakeFormat& make_format, Output& out) : format_(make_format(rows_)), out_(out) {}

  std::unique_ptr<LaneShards::Product> product() const override { return std::make_unique<Rows>(out_); }
  Format& format() override { return *format_; }
  size_t made() override { return rows_.bytes_in_memory(); }
  void take_into(LaneShards::Product& product) override;
  void put(LaneShards::Product& product, size_t from, size_t to) override;
  void put_all(LaneShards::Product& product, unsigned thread) override;
  bool in_use(const LaneShards::Product& product) override;
  void wait(LaneShards::Product& product) override;

 private:
  struct Rows : LaneShards::Product {
    explicit Rows(Output& out) : placed(out) {}
    std::vector<char> bytes;
    Output::Rows placed;
  };
  Output rows_ = Output::in_memory();
  const std::unique_ptr<Format> format_;
  Output& out_;
};

}  // namespace ttc::tools
