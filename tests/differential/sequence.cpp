#include "sequence.h"

#include <algorithm>
#include <array>
#include <random>
#include <sstream>

namespace ravelin::differential {

namespace {

constexpr std::array<std::string_view, kSteps> kNames = {
    "create", "destroy", "carve", "give_back", "ready", "unready", "run",
    "bill",   "stay",    "slice", "preempt",   "block", "exit",    "online"};

// What one sequence is like: how often each step comes, and how large its numbers are.
class Maker {
  public:
    Maker(std::uint64_t seed, std::uint32_t harts) : random_(seed * 4 + harts) {
        out_.harts = harts;
        out_.online = one_in(4) ? 1 + below(harts) : harts;
        out_.budgets = one_in(10) ? 40 : 2 + below(14);
        out_.threads = one_in(3) ? 1 : 1 + below(2 * harts + 1);
        out_.weight = std::array{1'000'000U, 30U, 0xffffffffU}[below(3)];
        out_.start = one_in(6) ? 1 + below(kStarts - 1) : 0;
        ticks_ = below(4);
        weights_ = below(3);
    }

    Sequence make() {
        const std::array<std::uint32_t, kSteps> weights = frequencies();
        std::uint32_t all = 0;
        for (const std::uint32_t weight : weights)
            all += weight;
        const std::uint32_t length = 20 + below(180);
        grow();
        while (out_.steps.size() < length) {
            std::uint32_t left = below(all);
            std::size_t kind = 0;
            while (left >= weights[kind])
                left -= weights[kind++];
            add(static_cast<Do>(kind));
        }
        return std::move(out_);
    }

  private:
    std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(random_() % bound);
    }
    bool one_in(std::uint32_t times) { return below(times) == 0; }

    std::array<std::uint32_t, kSteps> frequencies() {
        const std::uint32_t tree = below(6);   // creations and destructions
        const std::uint32_t shift = below(6);  // carves and returns
        const std::uint32_t wakes = 2 + below(12);
        const std::uint32_t ends = 1 + below(10);
        return {tree + 1, (tree + 1) / 2, shift,         shift,    wakes, below(4), 4 + below(12),
                below(5), 1 + below(6),   4 + below(16), below(4), ends,  ends / 2, 1};
    }

    // A few budgets with a thread each: most sequences are about a queue that is not empty.
    void grow() {
        const std::uint32_t budgets = below(std::min(out_.budgets, 6U));
        for (std::uint32_t count = 0; count < budgets; ++count) {
            add(Do::create);
            if (!one_in(3)) out_.steps.back().a = 0;
        }
        for (std::uint32_t count = 0; count < budgets; ++count)
            add(Do::ready);
        for (std::uint32_t hart = 0; hart < out_.online; ++hart) {
            out_.steps.push_back({.what = Do::stay, .b = hart});
        }
    }

    std::uint64_t ticks() {
        switch (ticks_) {
        case 0: return below(3);
        case 1: return one_in(4) ? below(10'000) : 10'000;
        case 2: return one_in(8) ? below(600) : 1000 * below(4);
        default: return random_() >> (20 + below(44));
        }
    }

    std::uint64_t amount() {
        if (one_in(12)) return 0;
        switch (weights_) {
        case 0: return 1 + below(3);
        case 1: return 1 + below(1000);
        default: return random_() >> (32 + below(32));
        }
    }

    void add(Do what) {
        Step step{.what = what, .a = below(64), .b = below(out_.harts), .n = 0};
        switch (what) {
        case Do::run:
        case Do::bill: step.n = ticks(); break;
        case Do::create:
        case Do::carve:
        case Do::give_back: step.n = amount(); break;
        default: break;
        }
        out_.steps.push_back(step);
    }

    std::mt19937_64 random_;
    Sequence out_;
    std::uint32_t ticks_ = 0;
    std::uint32_t weights_ = 0;
};

}  // namespace

unsigned __int128 start_pass(std::uint32_t start) {
    using Wide = unsigned __int128;
    switch (start) {
    case 0: return 0;
    case 1: return (Wide{1} << 127) - (Wide{1} << 80);
    default: return ~Wide{0} - (Wide{1} << 36);
    }
}

Sequence sequence_of(std::uint64_t seed, std::uint32_t harts) {
    return Maker(seed, harts).make();
}

std::string to_text(const Sequence& sequence) {
    std::ostringstream out;
    out << sequence.harts << '/' << sequence.online << '/' << sequence.budgets << '/'
        << sequence.threads << '/' << sequence.weight << '/' << sequence.start << ':';
    for (const Step& step : sequence.steps) {
        out << ' ' << kNames[static_cast<std::size_t>(step.what)] << ' ' << step.a << ' ' << step.b
            << ' ' << step.n << ';';
    }
    return out.str();
}

std::optional<Sequence> from_text(std::string_view text) {
    std::istringstream in{std::string(text)};
    Sequence sequence;
    char a = 0;
    char b = 0;
    char c = 0;
    char d = 0;
    char e = 0;
    char colon = 0;
    in >> sequence.harts >> a >> sequence.online >> b >> sequence.budgets >> c >>
        sequence.threads >> d >> sequence.weight >> e >> sequence.start >> colon;
    if (!in || std::string{a, b, c, d, e, colon} != "/////:" || sequence.online == 0 ||
        sequence.online > sequence.harts || sequence.harts > 8 || sequence.start >= kStarts) {
        return std::nullopt;
    }
    std::string name;
    while (in >> name) {
        const auto* const found = std::find(kNames.begin(), kNames.end(), name);
        Step step;
        char end = 0;
        in >> step.a >> step.b >> step.n >> end;
        if (found == kNames.end() || !in || end != ';') return std::nullopt;
        step.what = static_cast<Do>(found - kNames.begin());
        sequence.steps.push_back(step);
    }
    return sequence;
}

}  // namespace ravelin::differential
