// Memory windows: what a process's user addresses show in the host's address space.
//
// Each address space number has a window of host addresses, reserved without access when a thread
// first asks where it is: a program that touches no memory of its own needs none. The windows
// together are a software TLB. A page is shown when a guest's access to it faults in the host and
// the core's own page tables allow it; it is hidden only when the core flushes it, or to make room.
// So what the core removes or narrows stays reachable until it flushes, and that is held against
// it:
//   - a flush that changes nothing hides the page at once. One that follows a change hides it when
//     every hart that could use the page has made it: a hart left out can go on using the old page;
//   - a hart that had the space active earlier and not now must have flushed by the time it runs
//     user code in that space again (checked at every return to user mode);
//   - a frame that a window shows may not be handed out (assert_unmapped), nor shown elsewhere
//     while the tables no longer name it where it is still shown.
// A strict machine also remembers, by seed, translations that were refused, and does not look at
// the tables again for one it knows until it is flushed.
//
// Bound: `capacity` pages shown at once, since the host allows some 65,000 mappings in a process
// and a shown page can take two; a random one makes room. Each show and hide is one system call.
#pragma once

#include <atomic>
#include <optional>

#include "core/abi/limits.h"
#include "core/port.h"
#include "port-hosted/source/host_memory.h"

namespace ravelin::hosted {

class Windows {
  public:
    static constexpr u32 kSpaces = abi::kMaxPid + 1;
    static constexpr u32 kMostEntries = 16'384;

    struct Ram {
        int file;
        std::byte* start;
        u32 frames;
    };

    Windows(const Ram& ram, u32 capacity, bool strict, u64 seed);

    /// The hart's user accesses go through `root` under `space` from now on; root 0: none.
    void activate(HartIndex hart, FrameNumber root, u32 space);
    void flush(HartIndex hart, u32 space, Word address, u32 count);
    void release(HartIndex hart, u32 space);
    void assert_unmapped(FrameNumber frame);

    /// What must hold when a hart resumes a thread of `space`; ends the process if it does not.
    void check_resume(HartIndex hart, u32 space) {
        if (views_[hart.value].space != space || spaces_[space].owed != 0) {
            check_resume_slowly(hart, space);
        }
    }

    /// Where user address 0 of the space is; its window is reserved by the first call. Ends the
    /// process if the host has no room for it.
    std::byte* open(u32 space);

    /// Whether a host address is in the window of the hart's active space; gives its user address.
    bool holds(HartIndex hart, Word host, Word& address) const {
        const auto start = reinterpret_cast<Word>(spaces_[views_[hart.value].space].window.start());
        if (start == 0 || host < start || host - start >= Port::Format::kUserEnd) {
            return false;
        }
        address = host - start;
        return true;
    }

    /// Answers a host fault at user address `address` of the hart's active space: true if the page
    /// is shown now and the access can be made again, false if the kernel must hear of it. Called
    /// by a signal handler: no allocation, no errno.
    bool fill(HartIndex hart, Word address, FaultKind access);

    /// The physical address that the tables give for an access of the hart's active space; nothing: they
    /// do not allow it. Looks at the tables each time, as a bus access of a device's registers may.
    std::optional<u64> translate(HartIndex hart, Word address, FaultKind access) const;

  private:
    enum class State : u8 { free, live, stale, ghost, refused };

    struct Entry {
        u32 frame;  ///< of a free one: the next free one's index + 1
        u32 page;
        u16 space;
        u8 rights;
        State state;
        u8 owing;  ///< stale and ghost: harts that have to flush yet
    };

    struct Space {
        HostMemory window;
        u8 users =
            0;  ///< harts that may hold translations of it: they ran it since they released it
        u8 active = 0;  ///< harts that run it now
        u32 owed = 0;   ///< entries that are stale or ghosts
        FrameNumber root;
    };

    struct View {
        u32 space = 0;  ///< 0: none
        FrameNumber root;
    };

    void check_resume_slowly(HartIndex hart, u32 space);
    void check_frame(u32 frame);
    std::byte* place_of(const Entry& entry) const {
        return spaces_[entry.space].window.start() + std::size_t{entry.page} * kPageSize;
    }
    u64 walk(FrameNumber root, u32 page) const;
    Entry* find(u32 space, u32 page);
    Entry& insert(u32 space, u32 page, u32 frame, u8 rights, State state);
    void remove(Entry& entry);
    void show(const Entry& entry);
    void hide(const Entry& entry);
    void flush_entry(HartIndex hart, Entry& entry);
    void settle(Entry& entry);
    void link(u32 index);
    void unlink(u32 index);
    static u32 bucket_of(u32 space, u32 page);

    // Harts really run at once in threads mode, and a fault's handler fills while another hart
    // flushes. Kernel code that holds it takes no guest fault, so a handler never waits for itself.
    class Hold {
      public:
        explicit Hold(std::atomic<bool>& flag);
        ~Hold() { flag_.store(false, std::memory_order_release); }
        Hold(const Hold&) = delete;

      private:
        std::atomic<bool>& flag_;
    };

    static constexpr u32 kBuckets = 2 * kMostEntries;

    Ram ram_;
    u32 capacity_;
    bool strict_;
    u64 random_;
    std::atomic<bool> held_flag_{false};
    HostMemory entries_memory_, buckets_memory_, shown_memory_;
    Entry* entries_;
    u16* buckets_;  ///< index + 1 of an entry; open addressing
    u16* shown_;    ///< per frame: entries that show it
    u32 used_ = 0;  ///< entries ever used
    u32 free_ = 0;  ///< index + 1 of the first free one
    View views_[kMaxHarts];
    Space spaces_[kSpaces];
};

}  // namespace ravelin::hosted
