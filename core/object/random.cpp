// The kernel's generator; see random.h. Bound: one block of 8 rounds every eight draws.
#include "core/object/random.h"

#include "core/kernel.h"

namespace ravelin {

namespace {

void quarter(u32& a, u32& b, u32& c, u32& d) {
    a += b;
    d = std::rotl(d ^ a, 16);
    c += d;
    b = std::rotl(b ^ c, 12);
    a += b;
    d = std::rotl(d ^ a, 8);
    c += d;
    b = std::rotl(b ^ c, 7);
}

}  // namespace

void Generator::seed(std::span<const std::byte, 32> key) {
    for (u32 place = 0; place < 8; ++place) {
        u32 word = 0;
        for (u32 byte = 4; byte-- > 0;)
            word = word << 8 | std::to_integer<u32>(key[place * 4 + byte]);
        key_[place] = word;
    }
    block_ = 0;
    used_ = 16;
}

void Generator::refill() {
    // "expand 32-byte k", the key, the block number, no nonce.
    const u32 start[16] = {0x61707865,
                           0x3320646e,
                           0x79622d32,
                           0x6b206574,
                           key_[0],
                           key_[1],
                           key_[2],
                           key_[3],
                           key_[4],
                           key_[5],
                           key_[6],
                           key_[7],
                           static_cast<u32>(block_),
                           static_cast<u32>(block_ >> 32),
                           0,
                           0};
    u32 x[16];
    for (u32 place = 0; place < 16; ++place)
        x[place] = start[place];
    for (u32 round = 0; round < 8; round += 2) {
        for (u32 place = 0; place < 4; ++place)
            quarter(x[place], x[4 + place], x[8 + place], x[12 + place]);
        for (u32 place = 0; place < 4; ++place) {
            quarter(x[place], x[4 + (place + 1) % 4], x[8 + (place + 2) % 4],
                    x[12 + (place + 3) % 4]);
        }
    }
    for (u32 place = 0; place < 16; ++place)
        words_[place] = x[place] + start[place];
    ++block_;
    used_ = 0;
}

u64 Generator::next() {
    if (used_ == 16) refill();
    u64 low = words_[used_];
    u64 high = words_[used_ + 1];
    used_ += 2;
    return high << 32 | low;
}

u64 draw(Kernel& kernel) {
    return kernel.generator.next();
}

}  // namespace ravelin
