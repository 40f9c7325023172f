// Free frames: order, zeroing, holes between runs, what is never free, and that the summaries never
// lie.
#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/memory/support.h"

namespace ravelin {
namespace {

bool is_ram(u32 frame) {
    const u32 offset = frame - Port::kFirst;
    return offset < Port::kSplit ||
           (offset >= Port::kSplit + Port::kHole && offset < Port::kFrames + Port::kHole);
}

bool is_zero(Port& port, FrameNumber frame) {
    const auto* byte = static_cast<const unsigned char*>(port.frame_pointer(frame));
    return std::all_of(byte, byte + kPageSize, [](unsigned char value) { return value == 0; });
}

TEST(Frames, EveryFrameIsTakenOnceZeroedLowestFirst) {
    Machine machine;
    ASSERT_TRUE(machine.ready);
    const u32 total = machine.frames.total();
    EXPECT_EQ(machine.frames.free(), total);
    EXPECT_LT(Port::kFrames - total - kMaxHarts, 10u) << "the state takes little";

    u32 last = 0;
    for (u32 i = 0; i < total; ++i) {
        const FrameNumber frame = machine.frames.take(machine.port);
        ASSERT_TRUE(is_ram(frame.value)) << frame.value;
        ASSERT_GT(frame.value, last);
        ASSERT_TRUE(is_zero(machine.port, frame));
        last = frame.value;
    }
    EXPECT_EQ(machine.frames.free(), 0u);
    EXPECT_EQ(machine.frames.take(machine.port).value, 0u);
}

TEST(Frames, RandomTakesAndGivesAgreeWithSets) {
    Machine machine;
    std::set<u32> never;  // used; the others that are free were given back
    for (u32 frame = Port::kFirst; frame < Port::kFirst + Port::kFrames + Port::kHole; ++frame) {
        if (machine.frames.take_exact(FrameNumber{frame})) never.insert(frame);
    }
    ASSERT_EQ(never.size(), machine.frames.total() + kMaxHarts);
    for (const u32 frame : never)
        machine.frames.give(FrameNumber{frame});
    std::vector<u32> taken;
    std::set<u32> free = never;
    never.clear();
    Unclean payers[3];
    std::vector<u32> out;

    Random random(1);
    // Long phases of giving and of taking, so that every set empties and fills.
    for (int phase = 0; phase < 40; ++phase) {
        const bool mostly_give = phase % 2 == 0;
        for (int step = 0; step < 2'000; ++step) {
            const u32 dice = random.below(14);
            if (dice == 10) {
                const u32 payer = random.below(4);
                machine.frames.owe(payer == 3 ? nullptr : &payers[payer]);
            } else if (dice == 11) {
                const u32 payer = random.below(3);
                machine.frames.move(payers[payer], payer == 0 ? nullptr : &payers[payer - 1]);
            } else if (dice == 12) {
                if (machine.frames.owing() == nullptr || out.size() == kMaxHarts) continue;
                const FrameNumber frame = machine.frames.take_out(*machine.frames.owing());
                ASSERT_TRUE(free.contains(frame.value));
                out.push_back(frame.value);
            } else if (dice == 13) {
                if (out.empty()) continue;
                Frames::zero(machine.port, FrameNumber{out.back()});
                machine.frames.put_clean(FrameNumber{out.back()});
                out.pop_back();
            } else if (mostly_give ? dice < 8 : dice < 2) {
                if (taken.empty()) continue;
                std::swap(taken[random.below(static_cast<u32>(taken.size()))], taken.back());
                machine.frames.give(FrameNumber{taken.back()});
                free.insert(taken.back());
                taken.pop_back();
            } else {
                const u32 room = machine.frames.free();
                const u32 frame = machine.frames.take(machine.port).value;
                ASSERT_EQ(frame == 0, room == 0);
                if (frame == 0) continue;
                ASSERT_EQ(free.erase(frame), 1u);
                ASSERT_EQ(std::count(out.begin(), out.end(), frame), 0);
                ASSERT_TRUE(is_zero(machine.port, FrameNumber{frame}));
                *static_cast<u32*>(machine.port.frame_pointer(FrameNumber{frame})) = ~u32{0};
                taken.push_back(frame);
            }
            ASSERT_EQ(machine.frames.free() + kMaxHarts, free.size());
        }
    }
}

TEST(Frames, AFrameThatWasZeroedAheadIsTakenFirstAndAsItIs) {
    Machine machine;
    Unclean payer;
    const FrameNumber frame = machine.frames.take(machine.port);
    machine.frames.give(frame);
    EXPECT_EQ(machine.frames.freed(), 1u);
    machine.frames.owe(&payer);
    EXPECT_EQ(machine.frames.freed(), 0u);
    ASSERT_EQ(machine.frames.owing(), &payer);
    EXPECT_EQ(machine.frames.take_out(payer), frame);
    EXPECT_EQ(machine.frames.owing(), nullptr);
    EXPECT_EQ(machine.frames.free(), machine.frames.total());
    EXPECT_NE(machine.frames.take(machine.port), frame) << "it is out";
    Frames::zero(machine.port, frame);
    machine.frames.put_clean(frame);
    EXPECT_EQ(machine.frames.take(machine.port), frame);
}

TEST(Frames, ContainsIsExactlyTheRuns) {
    Machine machine;
    for (u32 frame = Port::kFirst - 100; frame < Port::kFirst + Port::kFrames + Port::kHole + 100;
         ++frame) {
        ASSERT_EQ(machine.frames.contains(FrameNumber{frame}), is_ram(frame)) << frame;
    }
    EXPECT_FALSE(machine.frames.contains(FrameNumber{0}));
    EXPECT_FALSE(machine.frames.contains(FrameNumber{~u32{0}}));
}

TEST(Frames, HeldFramesKeepTheirBytesAndCount) {
    Port port;
    // Where the state would otherwise stand, and across its second choice.
    const std::array<RamRun, 3> held{
        RamRun{FrameNumber{Port::kFirst}, 3}, RamRun{FrameNumber{Port::kFirst + 4}, 1},
        RamRun{FrameNumber{Port::kFirst + Port::kSplit + Port::kHole}, 9}};
    Frames frames;
    ASSERT_TRUE(frames.init(port, port.facts(), held));
    EXPECT_EQ(frames.total(), frames.free() + 13);
    std::set<u32> held_frames;
    for (const RamRun& range : held) {
        for (u32 i = 0; i < range.count; ++i) {
            held_frames.insert(range.first.value + i);
        }
    }
    for (const u32 frame : held_frames) {
        const auto* byte =
            static_cast<const unsigned char*>(port.frame_pointer(FrameNumber{frame}));
        EXPECT_TRUE(
            std::all_of(byte, byte + kPageSize, [](unsigned char value) { return value == 0xa5; }));
    }
    while (frames.free() != 0) {
        EXPECT_FALSE(held_frames.contains(frames.take(port).value));
    }
    for (const u32 frame : held_frames) {
        frames.give(FrameNumber{frame});
    }
    EXPECT_EQ(frames.free(), 13u);
}

TEST(Frames, InitRefusesWhatCannotBe) {
    Port port;
    Frames frames;
    const std::array<RamRun, 1> no_ram{RamRun{FrameNumber{Port::kFirst + Port::kSplit}, 1}};
    EXPECT_FALSE(frames.init(port, port.facts(), no_ram));
    const std::array<RamRun, 2> twice{RamRun{FrameNumber{Port::kFirst}, 2},
                                      RamRun{FrameNumber{Port::kFirst + 1}, 2}};
    EXPECT_FALSE(frames.init(port, port.facts(), twice));
    const std::array<RamRun, 2> all{RamRun{FrameNumber{Port::kFirst}, Port::kSplit},
                                    RamRun{FrameNumber{Port::kFirst + Port::kSplit + Port::kHole},
                                           Port::kFrames - Port::kSplit}};
    EXPECT_FALSE(frames.init(port, port.facts(), all)) << "no room for the state";
    port.board().ram = {};
    EXPECT_FALSE(frames.init(port, port.facts()));
}

TEST(Frames, TraceRingIsNeverFree) {
    Port port;
    port.board().trace = {FrameNumber{Port::kFirst + 100}, 50};
    Frames frames;
    ASSERT_TRUE(frames.init(port, port.facts()));
    while (frames.free() != 0) {
        EXPECT_GE(frames.take(port).value - (Port::kFirst + 100), 50u);
    }
}

TEST(Frames, NotesStartAtZeroAndBelongToTheirFrame) {
    Machine machine;
    const FrameNumber first = machine.frames.take(machine.port);
    const FrameNumber second = machine.frames.take(machine.port);
    machine.frames.note(first) = 7;
    EXPECT_EQ(machine.frames.note(second), 0u);
    EXPECT_EQ(machine.frames.note(first), 7u);
    machine.frames.give(first);
    EXPECT_EQ(machine.frames.take(machine.port), first);
    EXPECT_EQ(machine.frames.note(first), 0u);
}

#if RAVELIN_CHECKED
TEST(FramesDeathTest, GivingWhatWasNotTakenStops) {
    Machine machine;
    const FrameNumber frame = machine.frames.take(machine.port);
    machine.frames.give(frame);
    EXPECT_DEATH(machine.frames.give(frame), "assertion failed");
    EXPECT_DEATH(machine.frames.give(FrameNumber{Port::kDevice}), "assertion failed");
    EXPECT_DEATH(machine.frames.give(FrameNumber{Port::kFirst}), "assertion failed") << "the state";
}
#endif

}  // namespace
}  // namespace ravelin
