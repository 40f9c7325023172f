// A fuzzer's input, read from its front; behind its end it is zeroes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ravelin::fuzz {

class Bytes {
  public:
    Bytes(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}

    bool empty() const { return left_ == 0; }

    std::uint8_t byte() {
        if (left_ == 0) return 0;
        --left_;
        return *at_++;
    }

    std::uint64_t word() {
        std::uint64_t value = 0;
        for (unsigned place = 0; place < 8; ++place)
            value |= std::uint64_t{byte()} << (8 * place);
        return value;
    }

  private:
    const std::uint8_t* at_;
    std::size_t left_;
};

}  // namespace ravelin::fuzz
