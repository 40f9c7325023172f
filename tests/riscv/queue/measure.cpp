// What the stride queue costs, in executed instructions: a program for a bare machine that counts
// itself, and says a line for every size, hart count and kind of event:
//
//     cost EVENT HARTS N WEIGHTS MOST MEAN FLAT-MOST FLAT-MEAN      (means in hundredths)
//
// An event is what a kernel entry asks of the queue: a slice's end (requeue, pick, floor, cap set;
// `judged` where budgets are capped or the set has to be judged anew), a wake (wake, floor, cap set) or
// a block (leave, floor, cap set, pick). The charge before it, whose division is not the queue's, is
// counted apart. N budgets of one thread each are queued all the while, of equal or of mixed weights.
// The flat array goes through the same events. Invariant: both run the same budgets.
#include <initializer_list>
#include <new>

#include "core/assert.h"
#include "core/stride/queue.h"
#include "tests/riscv/queue/flat.h"

namespace ravelin {

namespace {

constexpr u32 kMost = 512;
constexpr u32 kEvents = 600;

volatile u8* const kConsole = reinterpret_cast<volatile u8*>(0x10000000);
volatile u32* const kFinisher = reinterpret_cast<volatile u32*>(0x100000);

void say(char c) {
    *kConsole = static_cast<u8>(c);
}
void say(const char* text) {
    while (*text != 0)
        say(*text++);
}
void say(u32 number) {
    if (number >= 10) say(number / 10);
    say(static_cast<char>('0' + number % 10));
}

[[noreturn]] void end(const char* what) {
    say(what);
    say('\n');
    *kFinisher = 0x5555;
    for (;;) {
    }
}

// Instructions of the low half suffice: no event has 2^32. With shift 0 the emulator counts one a unit.
[[gnu::always_inline]] inline u32 count() {
    Word value;
    asm volatile("csrr %0, minstret" : "=r"(value) : : "memory");
    return static_cast<u32>(value);
}

u32 random_state;
u32 random() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

struct Figure {
    u32 most = 0;
    u64 sum = 0;
    u32 events = 0;

    void add(u32 cost) {
        if (cost > most) most = cost;
        sum += cost;
        events += 1;
    }
    u32 mean() const { return events == 0 ? 0 : static_cast<u32>(sum * 100 / events); }
};

enum Event : u32 { kSlice, kJudged, kBlock, kWake, kCharge, kEventKinds };
const char* const kNames[] = {"slice", "judged", "block", "wake", "charge"};

// By step: whether the queue had a cap set or one to judge. The flat array's steps are counted as its.
bool judges[kEvents + 4 * kMost + 40];

struct Figures {
    Figure of[kEventKinds];
};

stride::Entity entities[2][kMost];
alignas(stride::Queue) unsigned char queue_room[sizeof(stride::Queue)];
alignas(flat::Queue) unsigned char flat_room[sizeof(flat::Queue)];

// The kernel's way: core/sched's turn(), or its long way where that is closed.
struct Tree {
    explicit Tree(u32 harts) : queue(*new(queue_room) stride::Queue) { queue.set_harts(harts); }

    void charge(stride::Entity& entity, Ticks ticks) { queue.fold(entity, ticks); }
    stride::Entity* slice(stride::Entity& entity) {
        if (queue.can_turn(entity)) return &queue.rotate(entity);
        return stop(entity, true);
    }
    stride::Entity* stop(stride::Entity& entity, bool stays) {
        queue.raise();
        queue.stop(entity, stays);
        queue.raise_if_changed();
        return pick();
    }
    void wake(stride::Entity& entity) {
        queue.add_waiting(entity);
        queue.wake(entity);
        queue.raise_if_changed();
    }
    stride::Entity* pick() {
        stride::Entity* best = queue.pick();
        if (best != nullptr) queue.run(*best);
        return best;
    }

    bool note(u32 step) { return judges[step] = !queue.plain(); }

    stride::Queue& queue;
};

struct Flat {
    explicit Flat(u32 harts) : queue(*new(flat_room) flat::Queue) { queue.set_harts(harts); }

    void charge(stride::Entity& entity, Ticks ticks) { queue.fold(entity, ticks); }
    stride::Entity* slice(stride::Entity& entity) { return queue.stop(entity, true); }
    stride::Entity* stop(stride::Entity& entity, bool stays) { return queue.stop(entity, stays); }
    void wake(stride::Entity& entity) {
        entity.waiting += 1;
        queue.wake(entity);
    }
    stride::Entity* pick() { return queue.pick(); }

    bool note(u32 step) { return judges[step]; }

    flat::Queue& queue;
};

u32 nothing;  // what counting itself costs

template <class Kind>
struct Scene {
    Scene(Kind& queue_of, stride::Entity* crowd, u32 hart_count, u32 n, bool mixed)
        : queue(queue_of), harts(hart_count) {
        random_state = 1 + n * 8 + hart_count;
        for (u32 i = n; i-- > 0;) {
            crowd[i] = stride::Entity{};
            crowd[i].id = i + 1;
            crowd[i].weight = mixed ? 1 + random() % 1000 : 100;
        }
        for (u32 i = n; i-- > 0;)
            queue.wake(crowd[i]);
        for (u32 hart = 0; hart < harts; ++hart)
            runners[hart] = queue.pick();
    }

    template <class Call>
    void measured(Event event, Call call) {
        u32 before = count();
        call();
        u32 cost = count() - before - nothing;
        figures.of[event].add(cost);
    }

    // A slice of ten thousand ticks, or a run that a call cut short.
    void charge(stride::Entity& entity) {
        Ticks ticks{random() % 4 == 0 ? 1 + random() % 200 : 10'000 + random() % 50};
        measured(kCharge, [&] { queue.charge(entity, ticks); });
    }

    // The next hart that runs something.
    u32 next_hart() {
        u32 hart = random() % harts;
        while (runners[hart] == nullptr)
            hart = (hart + 1) % harts;
        return hart;
    }

    void step(bool blocks) {
        u32 hart = next_hart();
        stride::Entity& entity = *runners[hart];
        charge(entity);
        bool judged = queue.note(steps++);
        if (!blocks) {
            stride::Entity* next = nullptr;
            measured(judged ? kJudged : kSlice, [&] { next = queue.slice(entity); });
            runners[hart] = next;
            saw(hart);
            return;
        }
        stride::Entity* next = nullptr;
        measured(kBlock, [&] { next = queue.stop(entity, false); });
        runners[hart] = next;
        saw(hart);
        measured(kWake, [&] { queue.wake(entity); });
        for (u32 idle = 0; idle < harts; ++idle) {
            if (runners[idle] == nullptr) runners[idle] = queue.pick();
            saw(idle);
        }
    }

    void saw(u32 hart) {
        u32 id = runners[hart] == nullptr ? 0 : static_cast<u32>(runners[hart]->id);
        seen = (seen ^ id) * 16777619;
    }

    Kind& queue;
    u32 harts;
    stride::Entity* runners[8] = {};
    Figures figures;
    u32 seen = 0;
    u32 steps = 0;
};

template <class Kind>
Figures run(stride::Entity* crowd, u32 harts, u32 n, bool mixed, u32& seen) {
    Kind queue(harts);
    Scene<Kind> scene(queue, crowd, harts, n, mixed);
    // Once around before anything counts.
    for (u32 i = 0; i < 4 * n + 40; ++i)
        scene.step(false);
    scene.figures = {};
    for (u32 i = 0; i < kEvents; ++i)
        scene.step(i % 3 == 2);
    seen = scene.seen;
    return scene.figures;
}

void compare(u32 harts, u32 n, bool mixed) {
    u32 seen = 0;
    u32 flat_seen = 0;
    Figures tree = run<Tree>(entities[0], harts, n, mixed, seen);
    Figures flat = run<Flat>(entities[1], harts, n, mixed, flat_seen);
    if (seen != flat_seen) end("the flat array ran other budgets");
    for (u32 event = 0; event < kEventKinds; ++event) {
        const Figure& ours = tree.of[event];
        const Figure& other = flat.of[event];
        if (ours.events == 0) continue;
        say("cost ");
        say(kNames[event]);
        for (u32 figure : {harts, n}) {
            say(" ");
            say(figure);
        }
        say(mixed ? " mixed" : " equal");
        for (u32 figure : {ours.most, ours.mean(), other.most, other.mean()}) {
            say(" ");
            say(figure);
        }
        say("\n");
    }
}

}  // namespace

void assertion_failed(const char*, const char*, int) noexcept {
    end("an assertion failed");
}

extern "C" void measure() {
    u32 before = count();
    nothing = count() - before;
    for (bool mixed : {false, true}) {
        for (u32 harts : {1u, 2u, 4u}) {
            for (u32 n : {2u, 3u, 9u, 17u, 64u, 510u})
                compare(harts, n, mixed);
        }
    }
    end("done");
}

}  // namespace ravelin
