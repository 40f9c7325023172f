// Scenes of a whole kernel. Guest code here shares this process with who measures it: it gets a
// pointer to its Stage as its argument and reports through it.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "bench/micro/scenes.h"
#include "core/kernel.h"
#include "ravelin_hosted.h"
#include "user/rt/launch.h"

namespace ravelin::micro {

namespace {

// RAM for 510 processes, each with its own page tables.
constexpr u32 kMemoryMib = 192;

constexpr u64 kSliceTicks = hosted::kTimebase / 1'000'000 * RAVELIN_SLICE_US;

// Where a child finds what its launcher gave it.
constexpr u32 kChildReset = 1;
constexpr u32 kChildEndpoint = 2;

// A quarter of all processes is system's; neither it nor users could hold 510 alone.
constexpr u32 kSystemProcesses = abi::kMaxProcesses / 4;

// What the first program keeps of the root's weight, and what a heavy budget has beside light ones of 1:
// the light ones run once, then not for as many slices.
constexpr u64 kOwnWeight = abi::kInitWeight;
constexpr u64 kHeavyWeight = 700'000;

struct Stage {
    Meter* meter = nullptr;
    u32 budgets = 1;        ///< queued at once, the first program's included
    bool same = false;      ///< a slice's end picks the same thread again
    bool apart = false;     ///< caller and server have a budget each
    bool one_entry = true;  ///< the server replies and receives in one call
    u64 operations = 0;
};

Stage& stage_of(rt::Env& env) {
    return *reinterpret_cast<Stage*>(env.argument());
}

Word word_of(Stage& stage) {
    return reinterpret_cast<Word>(&stage);
}

[[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "ravelin-micro: the scene cannot be staged: %s\n", what);
    std::_Exit(1);
}

template <class T>
T must(rt::Result<T> result, const char* what) {
    if (!result.ok()) {
        give_up(what);
    }
    return std::move(result.value());
}

rt::Budget budget(rt::Env& env, const rt::Budget& parent, u64 weight, u64 processes = 1) {
    return must(
        rt::budget_create(
            env.records(), parent,
            {.pages = processes * rt::copy_pages(), .processes = processes, .weight = weight}),
        "no budget");
}

template <void (*Main)(rt::Env&)>
void start(rt::Env& env, const rt::Budget& where, Stage& stage, std::span<const u32> handles = {}) {
    must(rt::start_copy<Main>(env.records(), where, word_of(stage), handles), "no process");
}

[[noreturn]] void end_machine(u32 reset_handle) {
    const rt::ResetDevice reset{reset_handle};
    for (;;) {
        static_cast<void>(rt::system_reset(reset, abi::Reset::off));
    }
}

template <class Operation>
void measure(Stage& stage, Operation operation) {
    stage.meter->begin();
    for (u64 i = 0; i < stage.operations; ++i) {
        operation();
    }
    stage.meter->end();
}

// --- slice ends ------------------------------------------------------------------------------------

void spin(rt::Env&) {
    for (;;) {
        rt::work({kSliceTicks * 1'000});
    }
}

// The budget whose slices are counted. While another's slices lie between its own, each of those ends too.
void spin_measured(rt::Env& env) {
    Stage& stage = stage_of(env);
    const u64 own_slices = stage.same ? stage.operations : stage.operations / stage.budgets;
    rt::work({kSliceTicks * 4});
    stage.meter->begin();
    rt::work({kSliceTicks * own_slices});
    stage.meter->end();
    end_machine(kChildReset);
}

void slice_ends(rt::Env& env) {
    Stage& stage = stage_of(env);
    const rt::Budget root = env.start_handle<rt::Budget>(abi::kBootRoot);
    const rt::Budget system = env.start_handle<rt::Budget>(abi::kBootSystem);
    const rt::Budget users = env.start_handle<rt::Budget>(abi::kBootUsers);
    const u64 other_weight = stage.same ? 1 : kOwnWeight;
    for (u32 other = 2; other < stage.budgets; ++other) {
        const rt::Budget& parent = other - 2 < kSystemProcesses ? system : users;
        start<spin>(env, budget(env, parent, other_weight), stage);
    }
    rt::Budget rest;
    if (stage.same) {
        rest =
            budget(env, root, kOwnWeight - 1, 0);  // leaves this thread's own budget a weight of 1
    }
    const u32 handles[] = {abi::kBootReset};
    start<spin_measured>(env, budget(env, users, stage.same ? kHeavyWeight : kOwnWeight), stage,
                         handles);
    spin(env);
}

// --- calls -----------------------------------------------------------------------------------------

void null_calls(rt::Env& env) {
    measure(stage_of(env), [] { static_cast<void>(rt::time_now()); });
    end_machine(abi::kBootReset);
}

void page_maps(rt::Env& env) {
    measure(stage_of(env), [] {
        const Word address = must(rt::map_anon(kPageSize, abi::kRead | abi::kWrite), "no page");
        *static_cast<volatile char*>(rt::user_memory(address)) = 1;
        static_cast<void>(rt::unmap(address, kPageSize));
    });
    end_machine(abi::kBootReset);
}

void budget_lives(rt::Env& env) {
    const rt::Budget users = env.start_handle<rt::Budget>(abi::kBootUsers);
    const auto live = [&] {
        rt::Budget made = must(rt::budget_create(env.records(), users, {}), "no budget");
        static_cast<void>(rt::budget_destroy(made));
    };
    live();  // the page of records is mapped and seen
    measure(stage_of(env), live);
    end_machine(abi::kBootReset);
}

// --- messages --------------------------------------------------------------------------------------

void serve(rt::Env& env) {
    const Stage& stage = stage_of(env);
    const rt::Endpoint endpoint = env.start_handle<rt::Endpoint>(kChildEndpoint);
    rt::Message message = must(rt::receive(endpoint), "no message");
    for (;;) {
        if (stage.one_entry) {
            message = must(rt::reply_receive(message.id, message.words, endpoint), "no message");
        } else {
            must(rt::reply(message.id, message.words), "no reply");
            message = must(rt::receive(endpoint), "no message");
        }
    }
}

void call_measured(rt::Env& env) {
    Stage& stage = stage_of(env);
    const rt::Endpoint endpoint = env.start_handle<rt::Endpoint>(kChildEndpoint);
    const rt::Words words{{1, 2, 3, 4}};
    must(rt::call(endpoint, words), "no reply");
    measure(stage, [&] {
        if (must(rt::call(endpoint, words), "no reply").at[3] != 4) {
            give_up("a reply without its words");
        }
    });
    end_machine(kChildReset);
}

void round_trips(rt::Env& env) {
    Stage& stage = stage_of(env);
    const rt::Budget users = env.start_handle<rt::Budget>(abi::kBootUsers);
    const rt::Endpoint endpoint = must(rt::endpoint_create(), "no endpoint");
    const rt::Endpoint sender = must(rt::mint(endpoint, 1), "no badge");
    const u32 server_handles[] = {abi::kBootReset, endpoint.index()};
    const u32 caller_handles[] = {abi::kBootReset, sender.index()};
    const rt::Budget first = budget(env, users, kOwnWeight, stage.apart ? 1 : 2);
    start<serve>(env, first, stage, server_handles);
    if (stage.apart) {
        const rt::Budget second = budget(env, users, kOwnWeight);
        start<call_measured>(env, second, stage, caller_handles);
    } else {
        start<call_measured>(env, first, stage, caller_handles);
    }
    rt::sleep(rt::kForever);
}

// --- the machine -----------------------------------------------------------------------------------

template <void (*Main)(rt::Env&)>
void run(Stage stage, Meter& meter) {
    stage.meter = &meter;
    // No watchdog: it is an OS thread of its own.
    hosted::HostedMachine machine({.cost_model = false,
                                   .memory_mib = kMemoryMib,
                                   .watchdog_seconds = 0,
                                   .limit = {},
                                   .devices = {},
                                   .console = {}});
    const auto kernel = std::make_unique<Kernel>(machine.port());
    const hosted::Result result = machine.run(
        *kernel, hosted::HostedMachine::boot_program(&rt::thread_main<Main>, word_of(stage)));
    if (result.end != hosted::End::off || result.entries < stage.operations) {
        give_up("the machine ended before the operations were done");
    }
}

template <void (*Main)(rt::Env&)>
Scene scene(std::string name, Stage stage) {
    return {std::move(name), stage.operations, [stage](Meter& meter) { run<Main>(stage, meter); }};
}

}  // namespace

std::vector<Scene> kernel_scenes() {
    std::vector<Scene> all;
    // A multiple of every number of budgets but 64, for which it is rounded.
    constexpr u64 kSlices = 18'360;
    for (const bool same : {true, false}) {
        for (const u32 budgets : {2u, 3u, 9u, 17u, 64u, 510u}) {
            all.push_back(scene<slice_ends>(
                std::string("slice_end/") + (same ? "same/" : "switching/") +
                    std::to_string(budgets),
                {.budgets = budgets, .same = same, .operations = kSlices / budgets * budgets}));
        }
    }
    constexpr u64 kCalls = 5'000;
    all.push_back(scene<null_calls>("null_call", {.operations = kCalls}));
    all.push_back(scene<round_trips>("call_reply/one_budget", {.operations = kCalls}));
    all.push_back(
        scene<round_trips>("call_reply/two_budgets", {.apart = true, .operations = kCalls}));
    all.push_back(scene<round_trips>("call_reply/separate_receive",
                                     {.one_entry = false, .operations = kCalls}));
    all.push_back(scene<budget_lives>("budget_create_destroy", {.operations = kCalls}));
    all.push_back(scene<page_maps>("map_touch_unmap", {.operations = kCalls}));
    return all;
}

}  // namespace ravelin::micro
