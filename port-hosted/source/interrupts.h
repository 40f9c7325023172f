// The interrupt controller: level-triggered sources 1 to 1,023 of one priority, as strict as a
// PLIC.
//
// A source whose line is high becomes pending once and stays so until it is claimed; it does not
// become pending again before the claim is completed. A completion while the source is disabled is
// ignored, so that the source stays stuck until it is completed while enabled. Among pending
// sources the lowest number is claimed first. Bound: a claim scans 16 words.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <mutex>

#include "core/types.h"

namespace ravelin::hosted {

class Interrupts {
  public:
    static constexpr u32 kSources = 1024;

    /// Whether a source interrupts the harts now. A hint for who does not hold the kernel lock.
    bool asserted() const { return asserted_.load(std::memory_order_seq_cst); }

    void set_line(u32 source, bool high) {
        std::lock_guard hold(mutex_);
        put(line_, source, high);
        forward(source);
    }

    u32 claim() {
        std::lock_guard hold(mutex_);
        for (u32 word = 0; word < kWords; ++word) {
            const u64 ready = pending_[word] & enabled_[word];
            if (ready == 0) {
                continue;
            }
            const u32 source = word * 64 + static_cast<u32>(std::countr_zero(ready));
            put(pending_, source, false);
            put(claimed_, source, true);
            update();
            return source;
        }
        return 0;
    }

    void complete(u32 source) {
        std::lock_guard hold(mutex_);
        if (source >= kSources || !has(enabled_, source) || !has(claimed_, source)) {
            return;
        }
        put(claimed_, source, false);
        forward(source);
    }

    void set_enabled(u32 source, bool on) {
        if (source == 0 || source >= kSources) {
            return;
        }
        std::lock_guard hold(mutex_);
        put(enabled_, source, on);
        update();
    }

  private:
    static constexpr u32 kWords = kSources / 64;
    using Set = std::array<u64, kWords>;

    static bool has(const Set& set, u32 source) {
        return (set[source / 64] >> source % 64 & 1) != 0;
    }
    static void put(Set& set, u32 source, bool on) {
        const u64 bit = u64{1} << source % 64;
        set[source / 64] = on ? set[source / 64] | bit : set[source / 64] & ~bit;
    }

    // The gateway: a high line that is not in service makes its source pending.
    void forward(u32 source) {
        if (has(line_, source) && !has(claimed_, source)) {
            put(pending_, source, true);
        }
        update();
    }

    void update() {
        u64 ready = 0;
        for (u32 word = 0; word < kWords; ++word) {
            ready |= pending_[word] & enabled_[word];
        }
        asserted_.store(ready != 0, std::memory_order_seq_cst);
    }

    std::mutex mutex_;
    Set line_{}, pending_{}, claimed_{}, enabled_{};
    std::atomic<bool> asserted_{false};
};

}  // namespace ravelin::hosted
