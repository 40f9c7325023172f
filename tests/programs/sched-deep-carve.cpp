// A budget that grows and prunes a tree of up to 64 budgets, eight levels deep, below its own, carving at
// random and working in between, beside a spinner of equal weight.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kWeight = 1'000;
constexpr u32 kNodes = 64;
constexpr u32 kLevels = 8;
constexpr u32 kNone = kNodes;
constexpr u64 kSpare = 8;

struct Node {
    rt::Budget budget;
    u32 parent = kNone;  ///< kNone: below the process's own budget
    u32 level = 0;
    u64 weight = 0;  ///< free
    u64 pages = 0;   ///< free
};

class Tree {
  public:
    explicit Tree(Child& child) : child_(child), own_(child.handle<rt::Budget>(0)) {}

    void step() {
        const u64 draw = child_.must(rt::random());
        const u32 at = static_cast<u32>(draw % kNodes);
        if (nodes_[at].budget) {
            prune(at);
        } else {
            grow(at, static_cast<u32>(draw / kNodes % (kNodes + 1)), draw / (kNodes * 128));
        }
    }

  private:
    void grow(u32 at, u32 below, u64 draw) {
        if (below != kNone && (!nodes_[below].budget || nodes_[below].level + 1 == kLevels)) {
            below = kNone;
        }
        u64& weight = below == kNone ? weight_ : nodes_[below].weight;
        u64& pages = below == kNone ? pages_ : nodes_[below].pages;
        if (pages < 2) {
            return;
        }
        // What its own budget keeps is all it runs on.
        const u64 carve = draw % ((below == kNone ? weight / 8 : weight) + 1);
        const u64 room = (pages - 1) / 2;
        rt::Result<rt::Budget> made =
            rt::budget_create(child_.env().records(), below == kNone ? own_ : nodes_[below].budget,
                              {.pages = room, .weight = carve});
        Node& node = nodes_[at];
        node.budget = child_.must(std::move(made));
        node.parent = below;
        node.level = below == kNone ? 0 : nodes_[below].level + 1;
        node.weight = carve;
        node.pages = room;
        weight -= carve;
        pages -= room + 1;
        carved_[at] = carve;
        given_[at] = room + 1;
    }

    void prune(u32 at) {
        child_.must(rt::budget_destroy(nodes_[at].budget));
        const u32 parent = nodes_[at].parent;
        (parent == kNone ? weight_ : nodes_[parent].weight) += carved_[at];
        (parent == kNone ? pages_ : nodes_[parent].pages) += given_[at];
        drop(at);
    }

    // The kernel has closed the handles of all that died with it.
    void drop(u32 at) {
        nodes_[at].budget.forget();
        for (u32 below = 0; below < kNodes; ++below) {
            if (nodes_[below].budget && nodes_[below].parent == at) {
                drop(below);
            }
        }
    }

    Child& child_;
    rt::Budget own_;
    Node nodes_[kNodes];
    u64 carved_[kNodes] = {};
    u64 given_[kNodes] = {};
    u64 weight_ = kWeight - 1;
    u64 pages_ = kNodes * kSpare;
};

/// Role handle 0: its own budget. Parameter 0: work between two steps.
void carve(Child& child) {
    Tree tree{child};
    child.begin();
    u64 count = 0;
    for (; child.in_window(); ++count) {
        tree.step();
        rt::work({child.parameter(0)});
    }
    child.report(count);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget carver = launcher.budget(launcher.users(), kWeight, 2, 1, kNodes * kSpare + 8);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<carve>(carver, {launcher.piece()}, {carver.index()});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
