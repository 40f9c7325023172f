// Scenes of the kernel's parts without a kernel: the arithmetic and the order of core/stride, and the
// port's switch from one stack to another.
#include <memory>

#include "bench/micro/scenes.h"
#include "core/stride/queue.h"
#include "port-hosted/source/fiber.h"
#include "port-hosted/source/host_memory.h"

namespace ravelin::micro {

namespace {

constexpr u64 kOperations = 50'000;
constexpr u32 kWeight = 100;
constexpr Ticks kSliceTicks{10'001};

// The compiler must take `value` for used, and memory for changed.
template <class T>
void keep(const T& value) {
    asm volatile("" : : "r"(&value) : "memory");
}

void folds(Meter& meter) {
    stride::Entity entity{};
    entity.weight = kWeight;
    meter.begin();
    for (u64 i = 0; i < kOperations; ++i) {
        stride::fold(entity, kSliceTicks);
        keep(entity);
    }
    meter.end();
}

// A queue of equal budgets at one hart, of which the first runs.
struct Order {
    explicit Order(u32 budgets) : entities(std::make_unique<stride::Entity[]>(budgets)) {
        for (u32 i = budgets; i-- > 0;) {
            entities[i].id = i + 1;
            entities[i].weight = kWeight;
            queue.add_waiting(entities[i]);
            queue.wake(entities[i]);
        }
        queue.raise_if_changed();
        runner = queue.pick();
        queue.run(*runner);
    }

    std::unique_ptr<stride::Entity[]> entities;
    stride::Queue queue;
    stride::Entity* runner;
};

void picks(u32 budgets, Meter& meter) {
    Order order(budgets);
    meter.begin();
    for (u64 i = 0; i < kOperations; ++i) {
        keep(order.queue.pick());
    }
    meter.end();
}

void turns(u32 budgets, Meter& meter) {
    Order order(budgets);
    meter.begin();
    for (u64 i = 0; i < kOperations; ++i) {
        order.runner = &order.queue.turn(*order.runner, kSliceTicks);
    }
    meter.end();
}

struct Pair {
    hosted::Fiber here;
    hosted::Fiber there;
};

Pair* entered = nullptr;  // by the fiber that begins; the measuring thread is the only one

void bounce(hosted::Transfer transfer) {
    Pair& pair = *entered;
    hosted::fiber_arrived(pair.there, transfer);
    for (;;) {
        hosted::fiber_switch(pair.there, pair.here);
    }
}

void switches(Meter& meter) {
    constexpr std::size_t kStack = 64 * 1024;
    hosted::HostMemory stack(kStack, PROT_READ | PROT_WRITE);
    Pair pair;
    hosted::fiber_adopt(pair.here);
    hosted::fiber_make(pair.there, stack.start(), kStack, kStack, bounce);
    entered = &pair;
    hosted::fiber_switch(pair.here, pair.there);
    meter.begin();
    for (u64 i = 0; i < kOperations / 2; ++i) {
        hosted::fiber_switch(pair.here, pair.there);
    }
    meter.end();
    hosted::fiber_drop(pair.there);
}

}  // namespace

std::vector<Scene> part_scenes() {
    std::vector<Scene> all{{"fold", kOperations, folds}};
    for (const u32 budgets : {3u, 510u}) {
        const std::string count = std::to_string(budgets);
        all.push_back(
            {"pick/" + count, kOperations, [budgets](Meter& meter) { picks(budgets, meter); }});
        all.push_back(
            {"turn/" + count, kOperations, [budgets](Meter& meter) { turns(budgets, meter); }});
    }
    all.push_back({"coroutine_switch", kOperations, switches});
    return all;
}

}  // namespace ravelin::micro
