// Memory in the place of a card's: what a mapping of the model shows.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ttc::card::kmd {

[[noreturn]] void model_fails(const char* what);  // with errno's text; throws std::runtime_error

int memory_file(const char* name, uint64_t bytes, int fill);
// Maps the file in place of what is mapped there.
void put(void* at, size_t bytes, int fd, uint64_t offset);
void put_nothing(uint8_t* at, size_t bytes);
void put_zeros(uint8_t* at, size_t bytes);

}  // namespace ttc::card::kmd
