// The reader against libfdt over the whole corpus: as it is, at any alignment, cut short at every
// byte, and with every cell spoiled.

#include "tests/fdt/corpus.h"
#include "tests/fdt/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace ravelin::fdt::test {

namespace {

void put_word(Blob& blob, std::size_t offset, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) {
        blob[offset + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
    }
}

class Corpus : public testing::TestWithParam<std::string> {};

TEST_P(Corpus, OpensAndAgreesWithLibfdt) {
    const Blob blob = read_tree(GetParam());
    Tree tree;
    ASSERT_EQ(tree.open(blob), Status::ok);
    EXPECT_EQ(tree.bytes().size(), blob.size());
    EXPECT_EQ(Tree::size_from_header(Bytes{blob}.first(8)), blob.size());
    EXPECT_EQ(disagreement(blob), "");
}

TEST_P(Corpus, ReadsTheSameAtAnyAlignment) {
    const Blob blob = read_tree(GetParam());
    Tree aligned;
    ASSERT_EQ(aligned.open(blob), Status::ok);
    const auto want = std::make_unique<Facts>();
    const Status status = read_facts(aligned, *want);
    for (std::size_t shift = 1; shift < 8; ++shift) {
        Blob moved(blob.size() + shift);
        std::memcpy(moved.data() + shift, blob.data(), blob.size());
        Tree tree;
        ASSERT_EQ(tree.open(Bytes{moved}.subspan(shift)), Status::ok);
        const auto got = std::make_unique<Facts>();
        EXPECT_EQ(read_facts(tree, *got), status);
        EXPECT_EQ(got->harts.size(), want->harts.size());
        EXPECT_EQ(got->timebase, want->timebase);
    }
}

// However much is missing, the answer is an error: first the memory ends early, then the tree says
// itself that it is that short.
TEST_P(Corpus, IsRefusedCutShortAnywhere) {
    const Blob blob = read_tree(GetParam());
    for (std::size_t size = 0; size < blob.size(); ++size) {
        Blob cut(blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(size));
        Tree tree;
        ASSERT_EQ(tree.open(cut), Status::truncated) << size;
        ASSERT_TRUE(tree.bytes().empty());
        if (size < 8) continue;
        put_word(cut, 4, static_cast<std::uint32_t>(size));
        ASSERT_NE(tree.open(cut), Status::ok) << size;
    }
}

// The structure block ends early, at every cell of it.
TEST_P(Corpus, IsRefusedWithAShorterStructureBlock) {
    const Blob blob = read_tree(GetParam());
    const std::uint32_t bytes = Property{{}, blob}.cell(9);
    for (std::uint32_t size = 0; size < bytes; size += 4) {
        Blob cut = blob;
        put_word(cut, 36, size);
        Tree tree;
        ASSERT_NE(tree.open(cut), Status::ok) << size;
        if (size % 64 == 0) {
            ASSERT_EQ(disagreement(cut), "") << size;
        }
    }
}

TEST_P(Corpus, AgreesWithLibfdtWhateverCellIsSpoiled) {
    const Blob blob = read_tree(GetParam());
    // The larger trees only repeat the smaller ones' kinds of cells.
    const std::size_t step = blob.size() > 4000 ? 28 : 4;
    for (std::size_t at = 0; at + 4 <= blob.size(); at += step) {
        for (const std::uint32_t value : {0U, 1U, 4U, 9U, 0x7FFFFFFFU, 0xFFFFFFF8U, 0xFFFFFFFFU}) {
            Blob spoiled = blob;
            put_word(spoiled, at, value);
            ASSERT_EQ(disagreement(spoiled), "") << "cell at " << at << " = " << value;
        }
    }
}

std::string test_name(const testing::TestParamInfo<std::string>& tree) {
    std::string name = tree.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Trees, Corpus, testing::ValuesIn(tree_names()), test_name);

TEST(Tree, RefusesWhatIsNoTree) {
    Tree tree;
    EXPECT_EQ(tree.open({}), Status::truncated);
    Blob blob = read_tree("harts-4");
    put_word(blob, 0, 0xD00DFEEE);
    EXPECT_EQ(tree.open(blob), Status::bad_magic);
    EXPECT_FALSE(Tree::size_from_header(blob));
    EXPECT_FALSE(Tree::size_from_header(Bytes{blob}.first(7)));
}

TEST(Tree, RefusesVersionsItCannotRead) {
    Tree tree;
    Blob blob = read_tree("harts-4");
    put_word(blob, 20, 16);
    EXPECT_EQ(tree.open(blob), Status::bad_version);
    blob = read_tree("harts-4");
    put_word(blob, 24, 18);
    EXPECT_EQ(tree.open(blob), Status::bad_version);
}

TEST(Tree, RefusesBlocksOutsideIt) {
    for (const std::size_t field : {8U, 12U, 16U, 32U, 36U}) {
        Blob blob = read_tree("harts-4");
        put_word(blob, field, 0xFFFFFFF8);
        Tree tree;
        EXPECT_NE(tree.open(blob), Status::ok) << field;
    }
}

/// A tree of `depth` nested nodes.
Blob nested(std::uint32_t depth) {
    Blob blob(56);
    const auto word = [&](std::uint32_t value) {
        blob.resize(blob.size() + 4);
        put_word(blob, blob.size() - 4, value);
    };
    for (std::uint32_t i = 0; i < depth; ++i) {
        word(1);
        word(i == 0 ? 0 : 0x61000000);
    }
    for (std::uint32_t i = 0; i < depth; ++i) {
        word(2);
    }
    word(9);
    const auto total = static_cast<std::uint32_t>(blob.size());
    const std::uint32_t header[] = {0xD00DFEED, total, 56, total, 40, 17, 16, 0, 0, total - 56};
    for (std::size_t i = 0; i < std::size(header); ++i) {
        put_word(blob, i * 4, header[i]);
    }
    return blob;
}

TEST(Tree, BoundsTheDepth) {
    Tree tree;
    EXPECT_EQ(tree.open(nested(kMaxDepth)), Status::ok);
    EXPECT_EQ(disagreement(nested(kMaxDepth)), "");
    EXPECT_EQ(tree.open(nested(kMaxDepth + 1)), Status::too_deep);
    EXPECT_EQ(tree.open(nested(0)), Status::bad_structure);
}

TEST(Tree, EmptyTreeAnswersNothing) {
    const Tree tree;
    EXPECT_FALSE(tree.first_child(tree.root()));
    EXPECT_FALSE(tree.next_sibling(tree.root()));
    EXPECT_FALSE(tree.property(tree.root(), "compatible"));
    EXPECT_FALSE(tree.reservation(0));
    EXPECT_FALSE(tree.find("/cpus"));
    const auto facts = std::make_unique<Facts>();
    EXPECT_EQ(read_facts(tree, *facts), Status::no_harts);
}

// A property longer than the tree, by any amount: added to its place in 32 bits, the last ones wrap.
TEST(Tree, RefusesPropertiesLongerThanItself) {
    const Blob blob = read_tree("harts-4");
    const std::size_t structure = Property{{}, blob}.cell(2);
    ASSERT_EQ((Property{{}, blob}.cell(structure / 4 + 2)), 3U);  // the root's first property
    for (std::uint64_t bytes = blob.size(); bytes <= 0xFFFFFFFF; bytes += 1 + bytes / 1000) {
        Blob spoiled = blob;
        put_word(spoiled, structure + 12, static_cast<std::uint32_t>(bytes));
        Tree tree;
        ASSERT_EQ(tree.open(spoiled), Status::truncated) << bytes;
    }
    for (std::uint32_t below = 1; below < 64; ++below) {
        Blob spoiled = blob;
        put_word(spoiled, structure + 12, 0 - below);
        Tree tree;
        ASSERT_EQ(tree.open(spoiled), Status::truncated) << below;
    }
}

TEST(Tree, FindsByPath) {
    const Blob blob = read_tree("virt-rv64-4");
    Tree tree;
    ASSERT_EQ(tree.open(blob), Status::ok);
    EXPECT_EQ(tree.find("/"), tree.root());
    const auto full = tree.find("/soc/serial@10000000");
    ASSERT_TRUE(full);
    EXPECT_EQ(tree.name(*full), "serial@10000000");
    EXPECT_EQ(tree.find("/soc/serial"), full);
    EXPECT_FALSE(tree.find("/soc/serial@1"));
    EXPECT_FALSE(tree.find("/soc/nothing"));
    EXPECT_FALSE(tree.find("soc"));
    EXPECT_FALSE(tree.find(""));
}

TEST(Property, ChecksItsBounds) {
    const Blob bytes = {0, 0, 0, 1, 0, 0, 0, 2, 0xFF};
    const Property property{"p", bytes};
    EXPECT_EQ(property.cells(), 2U);
    EXPECT_EQ(property.cell(1), 2U);
    EXPECT_EQ(property.cell(2), 0U);
    EXPECT_EQ(property.number(0, 2), 0x100000002U);
    EXPECT_EQ(property.number(1, 1), 2U);
    EXPECT_FALSE(property.number(1, 2));
    EXPECT_FALSE(property.number(2, 1));
    EXPECT_FALSE(property.number(SIZE_MAX, 1));
    EXPECT_FALSE(property.number(0, 0));
    EXPECT_FALSE(property.number(0, 3));
}

TEST(Property, FindsWordsInLists) {
    const Blob bytes = {'a', 'b', 0, 'c', 0, 'd'};
    const Property property{"p", bytes};
    EXPECT_EQ(property.text(), "ab");
    EXPECT_TRUE(property.has_text("ab"));
    EXPECT_TRUE(property.has_text("c"));
    EXPECT_FALSE(property.has_text("a"));
    EXPECT_FALSE(property.has_text("d"));  // does not end
    EXPECT_FALSE((Property{"p", {}}).has_text(""));
}

TEST(Status, EachSaysSomethingOfItsOwn) {
    for (int i = 0; i <= static_cast<int>(Status::bad_controller); ++i) {
        for (int j = 0; j < i; ++j) {
            EXPECT_STRNE(describe(static_cast<Status>(i)), describe(static_cast<Status>(j)));
        }
    }
}

}  // namespace

}  // namespace ravelin::fdt::test
