// Taking the board's facts from its tree: one walk that keeps the path from the root, then what
// needs the whole tree to have been seen (contexts, the chosen console, the timebase).

#include "port-riscv/fdt/facts.h"

namespace ravelin::fdt {

namespace {

constexpr std::uint32_t kSupervisorExternal = 9;

/// A node on the path to the one being looked at, and what it means for its children.
struct Level {
    Node node;
    /// Cells of its children's addresses and sizes; the defaults are the specification's.
    std::uint32_t address_cells = 2;
    std::uint32_t size_cells = 1;
    bool enabled = true;
};

/// A UART and the node it came from.
struct FoundUart {
    Uart uart;
    Node node;
};

class Reader {
  public:
    Reader(const Tree& tree, Facts& facts) noexcept : tree_{tree}, facts_{facts} {}

    Status read() noexcept {
        read_reservations();
        tree_.walk([this](std::uint32_t depth, Node node) { visit(depth, node); });
        finish_timebase();
        finish_controller();
        finish_uart();
        read_chosen();
        if (facts_.memory.size() == 0) fail(Status::no_memory);
        return status_;
    }

  private:
    /// Keeps the first failure.
    void fail(Status status) noexcept {
        if (status_ == Status::ok) status_ = status;
    }

    template <class T, std::size_t N>
    void keep(List<T, N>& list, const T& item) noexcept {
        if (!list.push(item)) fail(Status::too_many);
    }

    void keep_region(auto& list, std::uint64_t base, std::uint64_t size) noexcept {
        if (size == 0) return;
        if (base + (size - 1) < base) return fail(Status::bad_range);
        keep(list, Region{base, size});
    }

    std::optional<Property> property(Node node, std::string_view name) const noexcept {
        return tree_.property(node, name);
    }

    /// A property of one cell: `otherwise` if it is not there, 0 if it is of another size.
    std::uint32_t cell(Node node, std::string_view name, std::uint32_t otherwise) const noexcept {
        const auto found = property(node, name);
        if (!found) return otherwise;
        return found->value.size() == 4 ? found->cell(0) : 0;
    }

    bool is_enabled(Node node) const noexcept {
        const auto status = property(node, "status");
        return !status || status->text() == "okay" || status->text() == "ok";
    }

    void read_reservations() noexcept {
        for (std::size_t i = 0; const auto entry = tree_.reservation(i); ++i) {
            keep_region(facts_.reserved, entry->base, entry->size);
        }
    }

    // --- The walk

    void visit(std::uint32_t depth, Node node) noexcept {
        if (depth >= kMaxDepth) return fail(Status::too_deep);
        depth_ = depth;
        Level& level = path_[depth];
        level = Level{.node = node};
        level.address_cells = cell(node, "#address-cells", 2);
        level.size_cells = cell(node, "#size-cells", 1);
        level.enabled = is_enabled(node) && (depth == 0 || path_[depth - 1].enabled);
        if (depth == 0) return;

        const auto type = property(node, "device_type");
        const std::string_view kind = type ? type->text() : std::string_view{};
        const std::string_view top = tree_.name(path_[1].node);
        if (top == "cpus") {
            if (depth == 1) cpus_timebase_ = timebase_of(node);
            if (depth == 2 && kind == "cpu") read_hart(node);
            if (depth == 3) read_local_controller(node);
        } else if (!level.enabled) {
            return;
        } else if (depth == 1 && kind == "memory") {
            read_regions(node, facts_.memory);
        } else if (depth == 2 && top == "reserved-memory") {
            read_regions(node, facts_.reserved);
        } else {
            read_device(node);
        }
    }

    /// The cells that the current node's own `reg` is written in.
    const Level& parent() const noexcept { return path_[depth_ - 1]; }

    /// All ranges of `reg`. Reserved memory may have none: it is then placed by its reader.
    void read_regions(Node node, auto& list) noexcept {
        const auto reg = property(node, "reg");
        if (!reg) return;
        const std::uint32_t address_cells = parent().address_cells;
        const std::uint32_t size_cells = parent().size_cells;
        if (address_cells < 1 || address_cells > 2 || size_cells < 1 || size_cells > 2) {
            return fail(Status::bad_cells);
        }
        const std::size_t entry = address_cells + size_cells;
        if (reg->value.size() % (entry * 4) != 0) return fail(Status::bad_property);
        for (std::size_t at = 0; at < reg->cells(); at += entry) {
            keep_region(list, *reg->number(at, address_cells),
                        *reg->number(at + address_cells, size_cells));
        }
    }

    // --- Harts

    /// A frequency is one cell or two; 0 if the property is not there.
    std::uint64_t timebase_of(Node node) noexcept {
        const auto frequency = property(node, "timebase-frequency");
        if (!frequency) return 0;
        const auto value = frequency->number(0, frequency->cells());
        if (frequency->value.size() % 4 != 0 || !value) fail(Status::bad_property);
        return value.value_or(0);
    }

    void read_hart(Node node) noexcept {
        if (parent().address_cells < 1 || parent().address_cells > 2) {
            return fail(Status::bad_cells);
        }
        const auto reg = property(node, "reg");
        const auto id = reg ? reg->number(0, parent().address_cells) : std::nullopt;
        if (!id) return fail(Status::bad_property);
        Hart hart;
        hart.id = *id;
        hart.paging = paging_of(node);
        hart.usable = path_[depth_].enabled && hart.paging != Paging::none;
        hart.sstc = has_extension(node, "sstc");
        const std::uint64_t timebase = timebase_of(node);
        if (hart.usable && timebase != 0) {
            if (hart_timebase_ != 0 && hart_timebase_ != timebase) fail(Status::bad_timebase);
            hart_timebase_ = timebase;
        }
        keep(facts_.harts, hart);
    }

    Paging paging_of(Node node) const noexcept {
        const auto type = property(node, "mmu-type");
        if (!type) return Paging::none;
        const std::string_view text = type->text();
        if (text == "riscv,sv32") return Paging::sv32;
        if (text == "riscv,sv39") return Paging::sv39;
        if (text == "riscv,sv48") return Paging::sv48;
        if (text == "riscv,sv57") return Paging::sv57;
        return Paging::none;
    }

    /// In the list of riscv,isa-extensions, or after an underscore in riscv,isa.
    bool has_extension(Node node, std::string_view name) const noexcept {
        const auto list = property(node, "riscv,isa-extensions");
        if (list && list->has_text(name)) return true;
        const auto isa = property(node, "riscv,isa");
        std::string_view rest = isa ? isa->text() : std::string_view{};
        for (std::size_t at = rest.find('_'); at != rest.npos; at = rest.find('_')) {
            rest.remove_prefix(at + 1);
            if (rest.substr(0, rest.find('_')) == name) return true;
        }
        return false;
    }

    /// A hart's own interrupt controller, just inside it: the last hart that was kept.
    void read_local_controller(Node node) noexcept {
        if (!property(node, "interrupt-controller") || facts_.harts.size() == 0) return;
        const auto type = property(parent().node, "device_type");
        if (!type || type->text() != "cpu") return;
        facts_.harts.view().back().phandle = cell(node, "phandle", 0);
    }

    // --- Devices

    /// The first block of a device's registers as the CPU sees it; nothing if it cannot.
    std::optional<Region> registers_of(Node node) const noexcept {
        const auto reg = property(node, "reg");
        if (!reg) return {};
        const std::uint32_t address_cells = parent().address_cells;
        const auto base = reg->number(0, address_cells);
        if (!base) return {};
        const auto size = reg->number(address_cells, parent().size_cells);
        if (!size || *size == 0) return {};
        Region region{*base, *size};
        for (std::uint32_t bus = depth_ - 1; bus > 0; --bus) {
            const auto mapped = through_bus(path_[bus], path_[bus - 1], region);
            if (!mapped) return {};
            region = *mapped;
        }
        if (region.base + (region.size - 1) < region.base) return {};
        return region;
    }

    /// A region inside `bus`, in the addresses of the level above.
    std::optional<Region> through_bus(const Level& bus, const Level& above,
                                      Region region) const noexcept {
        const auto ranges = property(bus.node, "ranges");
        if (!ranges) return {};
        if (ranges->value.empty()) return region;
        const std::size_t parent_at = bus.address_cells;
        const std::size_t size_at = parent_at + std::size_t{above.address_cells};
        const std::size_t entry = size_at + std::size_t{bus.size_cells};
        for (std::size_t at = 0; at + entry <= ranges->cells(); at += entry) {
            const auto child = ranges->number(at, bus.address_cells);
            const auto outside = ranges->number(at + parent_at, above.address_cells);
            const auto size = ranges->number(at + size_at, bus.size_cells);
            if (!child || !outside || !size) return {};
            const std::uint64_t offset = region.base - *child;
            if (region.base < *child || offset >= *size || region.size > *size - offset) continue;
            return Region{*outside + offset, region.size};
        }
        return {};
    }

    std::uint32_t interrupt_of(Node node) const noexcept {
        const auto plain = property(node, "interrupts");
        if (plain) return plain->cell(0);
        const auto extended = property(node, "interrupts-extended");
        return extended ? extended->cell(1) : 0;
    }

    void read_device(Node node) noexcept {
        const auto compatible = property(node, "compatible");
        if (!compatible) return;
        const auto is = [&](std::string_view name) { return compatible->has_text(name); };
        const bool plic = is("sifive,plic-1.0.0") || is("riscv,plic0");
        const bool rtc = is("google,goldfish-rtc");
        const bool virtio = is("virtio,mmio");
        const bool sifive = is("sifive,uart0");
        const bool uart = is("ns16550a") || is("ns16550") || is("snps,dw-apb-uart") || sifive;
        if (!plic && !rtc && !virtio && !uart) return;
        const auto registers = registers_of(node);
        if (!registers) return;
        const Device device{*registers, plic ? 0 : interrupt_of(node)};
        if (plic && !facts_.plic) {
            facts_.plic = Plic{*registers, cell(node, "riscv,ndev", 0)};
            plic_node_ = node;
        } else if (rtc && !facts_.rtc) {
            facts_.rtc = device;
        } else if (virtio) {
            keep(facts_.virtio, device);
        } else if (uart) {
            const Uart found{device, sifive ? UartKind::sifive : UartKind::ns16550,
                             cell(node, "reg-shift", 0), cell(node, "clock-frequency", 0)};
            if (!facts_.uart) facts_.uart = found;
            keep(uarts_, FoundUart{found, node});
        }
    }

    // --- After the walk

    void finish_timebase() noexcept {
        bool usable = false;
        for (const Hart& hart : facts_.harts.view()) {
            usable = usable || hart.usable;
        }
        if (!usable) return fail(Status::no_harts);
        facts_.timebase = cpus_timebase_ != 0 ? cpus_timebase_ : hart_timebase_;
        if (facts_.timebase == 0) fail(Status::no_timebase);
    }

    /// Context i is the i-th pair of interrupts-extended: a hart's controller and a cause there.
    void finish_controller() noexcept {
        if (!facts_.plic) return;
        if (facts_.plic->sources == 0 || facts_.plic->sources > kMaxSources) {
            return fail(Status::bad_controller);
        }
        const auto pairs = property(plic_node_, "interrupts-extended");
        if (!pairs) return;
        for (std::uint32_t i = 0; i < pairs->cells() / 2; ++i) {
            if (pairs->cell(i * 2 + 1) != kSupervisorExternal) continue;
            for (Hart& hart : facts_.harts.view()) {
                if (hart.phandle != 0 && hart.phandle == pairs->cell(i * 2)) hart.context = i;
            }
        }
    }

    /// The node a stdout-path names: a path or an alias, up to a colon.
    std::optional<Node> chosen_console() const noexcept {
        const auto chosen = tree_.find("/chosen");
        const auto path = chosen ? property(*chosen, "stdout-path") : std::nullopt;
        if (!path) return {};
        std::string_view name = path->text();
        name = name.substr(0, name.find(':'));
        if (!name.empty() && name[0] == '/') return tree_.find(name);
        const auto aliases = tree_.find("/aliases");
        const auto alias = aliases ? property(*aliases, name) : std::nullopt;
        if (!alias) return {};
        return tree_.find(alias->text());
    }

    void finish_uart() noexcept {
        const auto console = chosen_console();
        if (!console) return;
        for (const FoundUart& found : uarts_.view()) {
            if (found.node == *console) facts_.uart = found.uart;
        }
    }

    void read_chosen() noexcept {
        const auto chosen = tree_.find("/chosen");
        if (!chosen) return;
        const auto bootargs = property(*chosen, "bootargs");
        if (bootargs) facts_.bootargs = bootargs->text();
        const auto seed = property(*chosen, "rng-seed");
        if (seed) facts_.rng_seed = seed->value;
        const auto start = property(*chosen, "linux,initrd-start");
        const auto end = property(*chosen, "linux,initrd-end");
        if (!start || !end) return;
        const auto from = start->number(0, start->cells());
        const auto to = end->number(0, end->cells());
        if (!from || !to) return fail(Status::bad_property);
        if (*to < *from) return fail(Status::bad_range);
        if (*to > *from) facts_.initrd = Region{*from, *to - *from};
    }

    const Tree& tree_;
    Facts& facts_;
    Status status_ = Status::ok;
    std::array<Level, kMaxDepth> path_{};
    std::uint32_t depth_ = 0;
    std::uint64_t cpus_timebase_ = 0;
    std::uint64_t hart_timebase_ = 0;
    Node plic_node_;
    List<FoundUart, 16> uarts_;
};

}  // namespace

Status read_facts(const Tree& tree, Facts& facts) noexcept {
    facts = Facts{};
    return Reader{tree, facts}.read();
}

}  // namespace ravelin::fdt
