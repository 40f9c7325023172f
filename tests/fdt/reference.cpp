// libfdt's reading of a tree, compared with ours.

#include "tests/fdt/reference.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include <libfdt.h>

namespace ravelin::fdt::test {

namespace {

/// libfdt wants its tree aligned to 8 bytes.
class Reference {
  public:
    explicit Reference(const Blob& blob) : words_(blob.size() / 8 + 1), size_{blob.size()} {
        std::copy(blob.begin(), blob.end(), reinterpret_cast<std::uint8_t*>(words_.data()));
    }

    const void* tree() const { return words_.data(); }
    int check() const { return fdt_check_full(tree(), size_); }

    /// Calls `visit` with each child of a node.
    template <class Visit>
    void children(int node, Visit visit) const {
        for (int child = fdt_first_subnode(tree(), node); child >= 0;
             child = fdt_next_subnode(tree(), child)) {
            visit(child);
        }
    }

    std::string name(int node) const {
        int length = 0;
        const char* text = fdt_get_name(tree(), node, &length);
        return text == nullptr ? std::string{}
                               : std::string(text, static_cast<std::size_t>(length));
    }

    /// A property's bytes; false if there is none.
    bool property(int node, const char* name, std::string& value) const {
        int length = 0;
        const void* data = fdt_getprop(tree(), node, name, &length);
        if (data == nullptr) return false;
        value.assign(static_cast<const char*>(data), static_cast<std::size_t>(length));
        return true;
    }

    std::string text(int node, const char* name) const {
        std::string value;
        property(node, name, value);
        return value.substr(0, value.find('\0'));
    }

    bool has_text(int node, const char* name, const char* word) const {
        return fdt_stringlist_search(tree(), node, name, word) >= 0;
    }

    bool enabled(int node) const {
        std::string value;
        if (!property(node, "status", value)) return true;
        const std::string status = text(node, "status");
        return status == "okay" || status == "ok";
    }

    /// `count` big-endian cells at cell `index` of a property's bytes.
    static std::uint64_t number(const std::string& bytes, std::size_t index, std::size_t count) {
        std::uint64_t value = 0;
        for (std::size_t i = index * 4; i < (index + count) * 4; ++i) {
            value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
        }
        return value;
    }

    std::uint32_t cells(int node, const char* name, std::uint32_t otherwise) const {
        std::string value;
        if (!property(node, name, value) || value.size() != 4) return otherwise;
        return static_cast<std::uint32_t>(number(value, 0, 1));
    }

  private:
    std::vector<std::uint64_t> words_;
    std::size_t size_;
};

std::string compare_nodes(const Tree& ours, Node node, const Reference& theirs, int offset) {
    const std::string name{ours.name(node)};
    if (name != theirs.name(offset)) return "name " + name + " is " + theirs.name(offset);

    int property = fdt_first_property_offset(theirs.tree(), offset);
    std::string wrong;
    ours.for_each_property(node, [&](const Property& mine) {
        if (!wrong.empty()) return;
        const char* their_name = nullptr;
        int length = 0;
        const void* value =
            property < 0 ? nullptr
                         : fdt_getprop_by_offset(theirs.tree(), property, &their_name, &length);
        if (value == nullptr || mine.name != their_name ||
            mine.value.size() != static_cast<std::size_t>(length) ||
            (length != 0 && std::memcmp(mine.value.data(), value, mine.value.size()) != 0)) {
            wrong = "property " + std::string(mine.name) + " of node " + name;
            return;
        }
        property = fdt_next_property_offset(theirs.tree(), property);
    });
    if (!wrong.empty()) return wrong;
    if (property >= 0) return "node " + name + " has more properties";

    int their_child = fdt_first_subnode(theirs.tree(), offset);
    for (auto child = ours.first_child(node); child; child = ours.next_sibling(*child)) {
        if (their_child < 0) return "node " + name + " has fewer children";
        wrong = compare_nodes(ours, *child, theirs, their_child);
        if (!wrong.empty()) return wrong;
        their_child = fdt_next_subnode(theirs.tree(), their_child);
    }
    return their_child < 0 ? "" : "node " + name + " has more children";
}

/// The facts by libfdt, of a tree whose facts ours could read.
class ReferenceFacts {
  public:
    explicit ReferenceFacts(const Reference& tree) : tree_{tree} {
        for (int i = 0; i < fdt_num_mem_rsv(tree.tree()); ++i) {
            std::uint64_t base = 0;
            std::uint64_t size = 0;
            fdt_get_mem_rsv(tree.tree(), i, &base, &size);
            reserved.push_back({base, size});
        }
        if (!tree.enabled(0)) {
            enabled_ = false;
        }
        tree.children(0, [this](int node) {
            const std::string name = tree_.name(node);
            if (name == "cpus") {
                read_cpus(node);
            } else if (enabled_ && tree_.enabled(node)) {
                if (tree_.text(node, "device_type") == "memory") read_ranges(0, node, memory);
                if (name == "reserved-memory") {
                    tree_.children(node, [&](int child) {
                        if (tree_.enabled(child)) read_ranges(node, child, reserved);
                    });
                }
            }
        });
    }

    std::vector<Region> memory;
    std::vector<Region> reserved;
    struct ReferenceHart {
        std::uint64_t id;
        bool enabled;
        std::string paging;
        bool sstc;
        std::uint32_t phandle;
    };
    std::vector<ReferenceHart> harts;
    std::uint64_t cpus_timebase = 0;

  private:
    void read_ranges(int parent, int node, std::vector<Region>& into) {
        std::string reg;
        tree_.property(node, "reg", reg);
        const std::size_t address = tree_.cells(parent, "#address-cells", 2);
        const std::size_t size = tree_.cells(parent, "#size-cells", 1);
        for (std::size_t at = 0; (at + address + size) * 4 <= reg.size(); at += address + size) {
            const Region region{Reference::number(reg, at, address),
                                Reference::number(reg, at + address, size)};
            if (region.size != 0) into.push_back(region);
        }
    }

    void read_cpus(int cpus) {
        std::string timebase;
        cpus_timebase = 0;
        if (tree_.property(cpus, "timebase-frequency", timebase)) {
            cpus_timebase = Reference::number(timebase, 0, timebase.size() / 4);
        }
        const bool cpus_enabled = enabled_ && tree_.enabled(cpus);
        tree_.children(cpus, [&](int cpu) {
            if (tree_.text(cpu, "device_type") != "cpu") return;
            std::string reg;
            tree_.property(cpu, "reg", reg);
            ReferenceHart hart{};
            hart.id = Reference::number(reg, 0, tree_.cells(cpus, "#address-cells", 2));
            hart.enabled = cpus_enabled && tree_.enabled(cpu);
            hart.paging = tree_.text(cpu, "mmu-type");
            const std::string isa = tree_.text(cpu, "riscv,isa") + "_";
            hart.sstc = isa.find("_sstc_") != std::string::npos ||
                        tree_.has_text(cpu, "riscv,isa-extensions", "sstc");
            tree_.children(cpu, [&](int inner) {
                std::string unused;
                if (tree_.property(inner, "interrupt-controller", unused)) {
                    hart.phandle = tree_.cells(inner, "phandle", 0);
                }
            });
            harts.push_back(hart);
        });
    }

    const Reference& tree_;
    bool enabled_ = true;
};

bool same_regions(std::span<const Region> ours, const std::vector<Region>& theirs) {
    return std::vector<Region>(ours.begin(), ours.end()) == theirs;
}

std::string compare_facts(const Facts& ours, const Reference& tree) {
    const ReferenceFacts theirs{tree};
    if (!same_regions(ours.memory.view(), theirs.memory)) return "memory";
    if (!same_regions(ours.reserved.view(), theirs.reserved)) return "reserved memory";
    if (ours.harts.size() != theirs.harts.size()) return "number of harts";
    for (std::size_t i = 0; i < theirs.harts.size(); ++i) {
        const Hart& mine = ours.harts[i];
        const auto& yours = theirs.harts[i];
        static const std::map<std::string, Paging> kPaging = {{"riscv,sv32", Paging::sv32},
                                                              {"riscv,sv39", Paging::sv39},
                                                              {"riscv,sv48", Paging::sv48},
                                                              {"riscv,sv57", Paging::sv57}};
        const auto paging = kPaging.find(yours.paging);
        const bool pages = paging != kPaging.end();
        if (mine.id != yours.id) return "hart id";
        if (mine.usable != (yours.enabled && pages)) return "usable hart";
        if (mine.paging != (pages ? paging->second : Paging::none)) return "paging";
        if (mine.sstc != yours.sstc) return "sstc";
        if (mine.phandle != yours.phandle) return "hart's phandle";
    }
    if (theirs.cpus_timebase != 0 && ours.timebase != theirs.cpus_timebase) return "timebase";
    const int chosen = fdt_subnode_offset(tree.tree(), 0, "chosen");
    std::string seed;
    if (chosen >= 0) tree.property(chosen, "rng-seed", seed);
    if (seed != std::string(ours.rng_seed.begin(), ours.rng_seed.end())) return "rng-seed";
    if (chosen >= 0 && ours.bootargs != tree.text(chosen, "bootargs")) return "bootargs";
    return "";
}

/// libfdt 1.6.1 adds up property lengths in 32 bits: one just below 2^32 passes for a small one,
/// and 2^32 - 12 is where it never ends. Whether a tree may hold such a length.
bool libfdt_would_wrap(const Blob& blob) {
    const Property cells{{}, blob};
    for (std::size_t i = 0; i + 1 < cells.cells(); ++i) {
        if (cells.cell(i) == FDT_PROP && cells.cell(i + 1) > 0xFFFFFFF0) return true;
    }
    return false;
}

}  // namespace

std::string disagreement(const Blob& blob) {
    // Exactly as many bytes as there are, at an odd address: what is read beyond or at an alignment
    // is caught by the sanitizers.
    const auto memory = std::make_unique<std::uint8_t[]>(blob.size() + 1);
    std::copy(blob.begin(), blob.end(), memory.get() + 1);
    Tree tree;
    const Status status = tree.open({memory.get() + 1, blob.size()});

    if (libfdt_would_wrap(blob)) return "";
    // libfdt 1.6.1 looks for the last part of a root's path in trees before version 16, whose root may
    // have none, and reads through null. Nothing that it could say of these would count.
    if (status == Status::bad_version) return "";
    const Reference reference{blob};
    const int check = reference.check();
    if (check != 0) {
        if (status != Status::ok) return "";
        return std::string("ours accepts what libfdt does not: ") + fdt_strerror(check);
    }
    switch (status) {
    case Status::ok: break;
    // libfdt leaves these to who uses the tree:
    // blocks over the header, no root at all, properties after children, depth.
    case Status::bad_layout:
    case Status::bad_structure:
    case Status::too_deep: return "";
    default: return std::string("ours refuses what libfdt accepts: ") + describe(status);
    }
    std::string wrong = compare_nodes(tree, tree.root(), reference, 0);
    if (!wrong.empty()) return wrong;

    const auto facts = std::make_unique<Facts>();
    if (read_facts(tree, *facts) != Status::ok) return "";
    wrong = compare_facts(*facts, reference);
    return wrong.empty() ? "" : "facts differ: " + wrong;
}

}  // namespace ravelin::fdt::test
