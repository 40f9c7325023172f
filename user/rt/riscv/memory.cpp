// The four memory functions that a compiler may call in freestanding code. Built without builtins, so
// that a loop here is not turned into a call of itself.

#include <cstddef>

extern "C" {

void* memcpy(void* to, const void* from, std::size_t count) {
    char* out = static_cast<char*>(to);
    const char* in = static_cast<const char*>(from);
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = in[i];
    }
    return to;
}

void* memmove(void* to, const void* from, std::size_t count) {
    char* out = static_cast<char*>(to);
    const char* in = static_cast<const char*>(from);
    if (out <= in) {
        return memcpy(to, from, count);
    }
    for (std::size_t i = count; i > 0; --i) {
        out[i - 1] = in[i - 1];
    }
    return to;
}

void* memset(void* to, int value, std::size_t count) {
    char* out = static_cast<char*>(to);
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<char>(value);
    }
    return to;
}

int memcmp(const void* left, const void* right, std::size_t count) {
    const unsigned char* a = static_cast<const unsigned char*>(left);
    const unsigned char* b = static_cast<const unsigned char*>(right);
    for (std::size_t i = 0; i < count; ++i) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

}  // extern "C"
