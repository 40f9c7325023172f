// The memory functions that a compiler or its headers may call in freestanding code: words at a time where both sides
// allow it, since frames are zeroed and copied with them. Built without builtins, so that a loop here
// is not turned into a call of itself. No access is ever misaligned.

#include <cstddef>
#include <cstdint>

namespace {

using Word = std::uintptr_t;
using MayAlias [[gnu::may_alias]] = Word;

constexpr std::size_t kWord = sizeof(Word);
constexpr std::size_t kBlock = 8 * kWord;

bool is_aligned(const void* pointer) {
    return reinterpret_cast<Word>(pointer) % kWord == 0;
}

}  // namespace

extern "C" {

void* memset(void* to, int value, std::size_t count) {
    auto* out = static_cast<unsigned char*>(to);
    const auto byte = static_cast<unsigned char>(value);
    for (; count != 0 && !is_aligned(out); --count) {
        *out++ = byte;
    }
    const Word word = ~Word{0} / 0xff * byte;
    auto* words = reinterpret_cast<MayAlias*>(out);
    for (; count >= kBlock; count -= kBlock, words += 8) {
        words[0] = word;
        words[1] = word;
        words[2] = word;
        words[3] = word;
        words[4] = word;
        words[5] = word;
        words[6] = word;
        words[7] = word;
    }
    for (; count >= kWord; count -= kWord) {
        *words++ = word;
    }
    out = reinterpret_cast<unsigned char*>(words);
    for (; count != 0; --count) {
        *out++ = byte;
    }
    return to;
}

void* memcpy(void* to, const void* from, std::size_t count) {
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    if (is_aligned(out) && is_aligned(in)) {
        for (; count >= kWord; count -= kWord, out += kWord, in += kWord) {
            *reinterpret_cast<MayAlias*>(out) = *reinterpret_cast<const MayAlias*>(in);
        }
    }
    for (; count != 0; --count) {
        *out++ = *in++;
    }
    return to;
}

void* memmove(void* to, const void* from, std::size_t count) {
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    if (out <= in) {
        return memcpy(to, from, count);
    }
    while (count != 0) {
        --count;
        out[count] = in[count];
    }
    return to;
}

int memcmp(const void* left, const void* right, std::size_t count) {
    const auto* a = static_cast<const unsigned char*>(left);
    const auto* b = static_cast<const unsigned char*>(right);
    for (std::size_t i = 0; i < count; ++i) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

std::size_t strlen(const char* text) {
    std::size_t length = 0;
    while (text[length] != 0) {
        ++length;
    }
    return length;
}

void* memchr(const void* in, int value, std::size_t count) {
    const auto* bytes = static_cast<const unsigned char*>(in);
    for (std::size_t i = 0; i < count; ++i) {
        if (bytes[i] == static_cast<unsigned char>(value)) {
            return const_cast<unsigned char*>(bytes + i);
        }
    }
    return nullptr;
}

}  // extern "C"
