// The worked example of docs/scheduling.md, computed with the core: every row of its table, and
// every number of its text, is what the queue comes to. Called with --print it prints the rows.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/assert.h"
#include "wiring.h"

namespace ravelin {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

namespace differential {
namespace {

constexpr const char* kPage = "docs/scheduling.md";
constexpr const char* kHeading = "## A worked example";

// 1234567 as 1,234,567. The example stays below 64 bits.
std::string grouped(u64 number) {
    std::string digits = std::to_string(number);
    for (std::size_t place = digits.size(); place > 3; place -= 3)
        digits.insert(place - 3, ",");
    return digits;
}

class Example {
  public:
    Example() : core_(1) {
        users_ = &core_.create_root(1, 1000, U128{});
        a_ = &core_.create(2, *users_, 200);
        b_ = &core_.create(3, *users_, 300);
    }

    std::vector<std::string> rows() {
        core_.ready(*a_);
        core_.ready(*b_);
        end_entry();
        row("A and B wake in one entry");
        slice(10'000);
        row("A runs a slice of 10,000 ticks");
        slice(10'000);
        row("B runs a slice");
        slice(10'000);
        row("B runs a slice");
        core_.run(0, Ticks{4'000});
        core_.deschedule(0, false);
        end_entry();
        row("A runs 4,000 ticks and sleeps");
        slice(10'000);
        row("B runs a slice");
        core_.run(0, Ticks{6'000});
        core_.ready(*a_);
        end_entry();
        row("6,000 ticks into B's next slice A wakes");
        slice(4'000);
        row("B's slice ends");
        core_.run(0, Ticks{1'000});
        c_ = &core_.create(4, *a_, 100);
        core_.ready(*c_);
        end_entry();
        row("1,000 ticks into its slice A makes C, of weight 100, which wakes");
        slice(9'000);
        row("A's slice ends");
        slice(10'000);
        row("C runs a slice");
        slice(10'000);
        row("B runs a slice");
        core_.run(0, Ticks{2'000});
        core_.deschedule(0, false);
        end_entry();
        row("B runs 2,000 ticks and sleeps");
        core_.run(0, Ticks{500});
        core_.destroy(*c_);
        c_ = nullptr;
        row("500 ticks into its slice A destroys C");
        core_.ready(*b_);
        end_entry();
        row("B wakes");
        slice(9'500);
        row("A's slice ends");
        return std::move(rows_);
    }

  private:
    void end_entry() {
        core_.reconcile();
        if (core_.harts()[0].runner == nullptr) core_.pick(0);
    }

    void slice(u64 ticks) {
        core_.run(0, Ticks{ticks});
        if (core_.turn_applies(0, true)) return core_.turn(0);
        core_.deschedule(0, true);
        end_entry();
    }

    static std::string state(const Wiring::Budget* budget) {
        if (budget == nullptr) return "";
        std::string text = grouped(budget->entity.pass.low);
        if (budget->entity.remainder != 0) text += " r " + std::to_string(budget->entity.remainder);
        return text;
    }

    void row(const std::string& what) {
        const Wiring::Budget* runner = core_.harts()[0].runner;
        const char* name = runner == a_ ? "A" : runner == b_ ? "B" : runner == c_ ? "C" : "";
        rows_.push_back("| " + std::to_string(rows_.size() + 1) + " | " + what + " | " + state(a_) +
                        " | " + state(b_) + " | " + state(c_) + " | " +
                        grouped(core_.queue().floor().low) + " | " + name + " |");
    }

    Wiring core_;
    Wiring::Budget* users_;
    Wiring::Budget* a_;
    Wiring::Budget* b_;
    Wiring::Budget* c_ = nullptr;
    std::vector<std::string> rows_;
};

// The lines of the page's example.
std::vector<std::string> section() {
    std::ifstream page(kPage);
    std::vector<std::string> lines;
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("## ")) inside = line == kHeading;
        if (inside) lines.push_back(line);
    }
    return lines;
}

std::set<std::string> numbers_of(const std::string& text) {
    static const std::regex number("[0-9][0-9,]*[0-9]|[0-9]");
    return {std::sregex_token_iterator(text.begin(), text.end(), number), {}};
}

TEST(Page, ItsTableIsWhatTheCoreComputes) {
    std::vector<std::string> found;
    for (const std::string& line : section()) {
        if (line.size() > 2 && line[0] == '|' && line[2] >= '0' && line[2] <= '9')
            found.push_back(line);
    }
    EXPECT_EQ(found, Example().rows());
}

TEST(Page, ItsTextNamesOnlyNumbersThatAreComputed) {
    // The constants, and what the text works out step by step.
    std::set<std::string> known = {"10,000", "100", "200", "300", grouped(stride::kStride)};
    for (const std::string& row : Example().rows())
        known.merge(numbers_of(row));
    stride::Entity run;
    run.weight = 200;
    stride::fold(run, Ticks{1'000});
    known.insert(grouped(run.pass.low));
    stride::reweigh(run, 100, U128{});
    known.insert(grouped(run.pass.low));
    run = {};
    run.weight = 100;
    stride::fold(run, Ticks{500});
    known.insert(grouped(run.pass.low));
    stride::Entity parent;
    parent.weight = 200;
    stride::lift(run, parent, U128{});
    known.insert(grouped(parent.pass.low));
    // Step 14: A at the floor of the step before, charged at 100, then at 200.
    constexpr u64 kFloor = 209'715'200;
    run.pass = U128{kFloor + run.pass.low};
    stride::reweigh(run, 200, U128{kFloor});
    known.insert(grouped(run.pass.low));
    std::size_t read = 0;
    for (const std::string& line : section()) {
        if (line.starts_with("|")) continue;
        for (const std::string& number : numbers_of(line)) {
            ++read;
            EXPECT_TRUE(known.contains(number)) << number << " in: " << line;
        }
    }
    EXPECT_GT(read, 10u);
}

}  // namespace
}  // namespace differential
}  // namespace ravelin

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "--print") {
        for (const std::string& row : ravelin::differential::Example().rows())
            std::printf("%s\n", row.c_str());
        return 0;
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
