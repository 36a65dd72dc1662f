// SPDX-License-Identifier: Apache-2.0
#include "native/cuda/program/text.h"

#include <string.h>

#include <algorithm>

#include "native/cuda/elementwise/plan.h"
#include "native/cuda/reduce/reduce.h"

namespace dlt::cuda {
namespace {

std::string number_text(int64_t n) { return std::to_string(n); }

// An element of up to 16 bytes as an Immediate.
std::string immediate_text(const void* element) {
  std::string text = "Immediate{{";
  const auto* bytes = static_cast<const unsigned char*>(element);
  for (int k = 0; k < 16; ++k) text += (k ? "," : "") + number_text(bytes[k]);
  return text + "}}";
}

class Printer {
 public:
  Printer(const Program& program, const ProgramGroup& group) : program_(program), group_(group) {}

  GroupText print() {
    const size_t count = group_.members.size();
    out_.of_elements.resize(count);
    levels_.assign(count, 0);
    bool good = true;
    for (size_t k = 0; k < count; ++k)
      if (group_.members[k].outside) add_operand(int(k));
    for (int s = group_.first; good && s < group_.last; ++s) good = add_step(program_.steps[size_t(s)]);
    for (size_t k = 0; k < count; ++k)
      if (group_.members[k].kept) add_result(int(k));
    good = good && out_.tensors.size() <= kernels::program_tensors && out_.numbers.size() <= kernels::program_numbers;
    if (good) write();
    return out_;
  }

 private:
  const Program& program_;
  const ProgramGroup& group_;
  GroupText out_;
  std::vector<int> levels_;  // the phase in which each member is known
  std::string row_values_, item_values_, load_row_, load_, store_row_, reductions_;
  std::vector<std::string> row_, item_, store_;  // by phase
  int reduction_count_ = 0;

  const ProgramValue& value(int member) const { return program_.values[size_t(group_.members[size_t(member)].value)]; }
  const char* type(int member) const { return type_name(value(member).type); }
  std::string field(int member) const { return "v" + number_text(group_.members[size_t(member)].value); }
  std::string place(int member) const { return (out_.of_elements[size_t(member)] ? "x." : "r.") + field(member); }

  static std::string& at(std::vector<std::string>& texts, int level) {
    if (int(texts.size()) <= level) texts.resize(size_t(level) + 1);
    return texts[size_t(level)];
  }
  int member_of(int number) const {
    for (size_t k = 0; k < group_.members.size(); ++k)
      if (group_.members[k].value == number) return int(k);
    return -1;
  }
  // Has a member an axis of the elements of a row, as far as that does not depend on extents?
  bool has_elements(int member) const {
    const ProgramValue& v = value(member);
    const int8_t* label = group_.members[size_t(member)].label;
    for (int d = 0; d < v.ndim; ++d)
      if (label[d] >= 0 && !(v.reduced >> d & 1) && (group_.reduced == 0 || (group_.reduced >> label[d] & 1))) return true;
    return false;
  }
  void declare(int member) {
    (out_.of_elements[size_t(member)] ? item_values_ : row_values_) += "    " + std::string(type(member)) + " " +
                                                                       field(member) + ";\n";
  }

  void add_operand(int member) {
    const ProgramValue& v = value(member);
    out_.of_elements[size_t(member)] = v.origin != Origin::number && v.origin != Origin::constant && has_elements(member);
    declare(member);
    if (v.origin == Origin::number || v.origin == Origin::constant) {
      std::string from = immediate_text(v.element);
      if (v.origin == Origin::number) {
        from = "p.value[" + number_text(int64_t(out_.numbers.size())) + "]";
        out_.numbers.push_back(group_.members[size_t(member)].value);
      }
      at(row_, 0) += "      r." + field(member) + " = immediate<" + type(member) + ">(" + from + ");\n";
      return;
    }
    const std::string number = number_text(int64_t(out_.tensors.size())), types = number + ", " + type(member);
    out_.tensors.push_back(member);
    if (out_.of_elements[size_t(member)])
      load_ += "    a.template load<" + types + ">(x, [](Item& i) -> " + type(member) + "& { return i." + field(member) +
               "; });\n";
    else load_row_ += "    r." + field(member) + " = a.template load<" + types + ">();\n";
  }

  void add_result(int member) {
    const std::string types = number_text(int64_t(out_.tensors.size())) + ", " + type(member);
    out_.tensors.push_back(member);
    ++out_.results;
    if (out_.of_elements[size_t(member)]) {
      at(store_, levels_[size_t(member)]) += "      a.template store<" + types + ">(x, [](const Item& i) { return i." +
                                             field(member) + "; });\n";
      out_.last = std::max(out_.last, levels_[size_t(member)]);
    } else {
      store_row_ += "    a.template store<" + types + ">(r." + field(member) + ");\n";
    }
  }

  bool add_step(const ProgramStep& step) {
    const int to = member_of(step.out);
    int in[3] = {-1, -1, -1}, level = 0;
    bool of_elements = group_.reduced == 0 && has_elements(to);
    for (int k = 0; k < step.inputs; ++k) {
      in[k] = member_of(step.in[k].value);
      level = std::max(level, levels_[size_t(in[k])]);
      of_elements |= out_.of_elements[size_t(in[k])] && step.kind != StepKind::reduce;
    }
    out_.of_elements[size_t(to)] = of_elements;
    declare(to);
    if (step.kind == StepKind::reduce) return add_reduction(step, in[0], to, level);
    levels_[size_t(to)] = level;
    const std::string text = step_text(step, in, to);
    at(of_elements ? item_ : row_, level) += "      " + place(to) + " = " + text + ";\n";
    if (of_elements) out_.last = std::max(out_.last, level);
    return !text.empty();
  }

  // "" where no kernel computes the step.
  std::string step_text(const ProgramStep& step, const int* in, int to) const {
    const int result = value(to).type;
    switch (step.kind) {
      case StepKind::element: return element_text(step, in, to);
      case StepKind::real: {
        const int x = value(in[0]).type;
        static const char* const names[] = {"add", "rsub", "multiply", "divide", "rdivide", "fma"};
        if (type_table[x].bytes == 8 || (step.inputs == 1 ? result != x : value(in[1]).type != result)) return "";
        if (step.inputs == 2 && type_table[result].bytes != type_table[x].bytes) return "";
        unsigned char bytes[16] = {};
        memcpy(bytes, &step.number, sizeof step.number);
        return apply_text(
            std::string("real_") + names[step.op], step.inputs + 1, x, to,
            place(in[0]) + ", immediate<double>(" + immediate_text(bytes) + "), " + (step.inputs == 2 ? place(in[1]) : "0"));
      }
      case StepKind::cast: return cast_text(step, in[0], to);
      default: break;
    }
    if (value(in[0]).type != type_bool || value(in[1]).type != result || value(in[2]).type != result) return "";
    return apply_text("choose", 3, result, to, place(in[0]) + ", " + place(in[1]) + ", " + place(in[2]));
  }

  std::string apply_text(const std::string& body, int count, int computed, int to, const std::string& operands) const {
    return "apply<" + body + ", " + number_text(count) + ", " + type_name(computed) + ", " + type(to) + ">(" + operands + ")";
  }

  std::string element_text(const ProgramStep& step, const int* in, int to) const {
    const OpRow& row = op_table[step.op];
    std::string body = std::string("op_") + row.name;
    int computed = step.type;
    unsigned kinds = row.kinds;
    if (step.type < 0) {
      body = std::string("unlike_") + row.name;
      computed = type_bool;
    } else if (step.saturate) {
      if (row.saturating < 0 || row.operands == 3) return "";
      body = std::string("saturating_") + row.name;
      kinds = DLT_NUMBERS;
    }
    if (computed >= computed_types || !(step.type < 0 || (kinds & kind_bit_of(computed)))) return "";
    std::string operands;
    for (int k = 0; k < 3; ++k)
      operands += (k ? ", " : "") + (k < step.inputs ? "take<" + body + ", " + type_name(computed) + ">(" + place(in[k]) + ")"
                                                     : std::string("0"));
    return apply_text(body, step.inputs, computed, to, operands);
  }

  std::string cast_text(const ProgramStep& step, int in, int to) const {
    const int from = value(in).type, result = value(to).type;
    const CastOptions& options = step.cast;
    if (from == result && !options.scaled) return place(in);
    const std::string modes = std::string(type_name(result)) + (options.rounding == Rounding::nearest ? ", true" : ", false") +
                              (options.saturate ? ", true>" : ", false>");
    if (!options.scaled) return apply_text("kernels::cast<" + modes, 1, from, to, place(in) + ", 0, 0");
    const int middle = scaling_type(from, result);
    if (middle < 0) return "";
    std::string numbers;
    for (const double number : {options.scale, options.offset}) {
      unsigned char bytes[16] = {};
      const auto narrow = static_cast<float>(number);
      if (middle == type_float64) memcpy(bytes, &number, sizeof number);
      else memcpy(bytes, &narrow, sizeof narrow);
      numbers += std::string(", immediate<") + type_name(middle) + ">(" + immediate_text(bytes) + ")";
    }
    return apply_text("scaled_cast<" + modes, 3, from, to, place(in) + numbers);
  }

  bool add_reduction(const ProgramStep& step, int in, int to, int level) {
    const ReduceOptions& options = step.reduce;
    const int result = options.result >= 0 ? options.result
                                           : reduction_result(step.op, step.type, options.saturate || options.keep);
    const KernelBody body = result < 0 ? KernelBody{} : kernel_body(step.op, step.type, options.saturate);
    if (body.text.empty() || !out_.of_elements[size_t(in)]) return false;
    std::string center;
    if (body.center >= 0) {  // the mean is a reduction of the phase before
      const std::string mean = "center" + number_text(reduction_count_), width = type_name(body.center);
      row_values_ += "    " + width + " " + mean + ";\n";
      ProgramStep of_mean{};
      of_mean.op = reduction_mean;
      print_reduction(kernel_body(reduction_mean, body.center, false).text, in, body.center, level++, of_mean,
                      "r." + mean + " = v", "");
      center = "    DLT_FN static double center(const Row& r, int k) {\n      return reduce::parts_of<computed<" + width +
               ">::type>::part(computed<" + width + ">::in(r." + mean + "), k);\n    }\n";
    }
    const std::string converted = value(to).type == result
                                      ? "v"
                                      : std::string("convert<") + type(to) + ", false, false, " + type_name(result) + ">(v)";
    print_reduction(body.text, in, result, level, step, place(to) + " = " + converted, center);
    levels_[size_t(to)] = level + 1;
    return true;
  }

  // `set` is the statement that brings the result `v` to row `r`.
  void print_reduction(const std::string& body, int in, int result, int level, const ProgramStep& step, const std::string& set,
                       const std::string& center) {
    const auto boolean = [](bool value) { return std::string(value ? "true;\n" : "false;\n"); };
    unsigned char correction[16] = {};
    memcpy(correction, &step.reduce.correction, sizeof step.reduce.correction);
    reductions_ += "  template <int D>\n  struct reduction<" + number_text(reduction_count_++) + ", D> {\n" +
                   "    using body = dlt::kernels::reduce::" + body + ";\n    using element = " + type(in) +
                   ";\n    using result = " + type_name(result) + ";\n    static constexpr int phase = " + number_text(level) +
                   ";\n    static constexpr bool starts = " + boolean(step.reduce.initial_type >= 0) +
                   "    static constexpr bool root = " + boolean(step.op == reduction_std) +
                   "    DLT_FN static element of(const Item& x) { return " + place(in) +
                   "; }\n    DLT_FN static Immediate initial() { return " + immediate_text(step.initial) +
                   "; }\n    DLT_FN static double correction() { return immediate<double>(" + immediate_text(correction) +
                   "); }\n" + center + "    DLT_FN static void set(Row& r, result v) { " + set + "; }\n  };\n";
    out_.reduced.push_back(in);
    out_.phases = std::max(out_.phases, level + 1);
  }

  // A function of a phase, whose steps are those of `texts`.
  static std::string by_phase(const std::string& head, const std::vector<std::string>& texts) {
    std::string text = head + " {\n";
    for (size_t level = 0; level < texts.size(); ++level)
      if (!texts[level].empty())
        text += "    if constexpr (P == " + number_text(int64_t(level)) + ") {\n" + texts[level] + "    }\n";
    return text + "  }\n";
  }

  void write() {
    const auto constant = [](const char* name, int64_t n) {
      return std::string("  static constexpr int ") + name + " = " + number_text(n) + ";\n";
    };
    out_.text = "#include \"native/cuda/kernels/program/program.cuh\"\nnamespace dlt::kernels::program {\nstruct Group {\n" +
                constant("tensors", std::max<int64_t>(1, int64_t(out_.tensors.size()))) +
                constant("reductions", reduction_count_) + constant("phases", out_.phases) + constant("last", out_.last) +
                "  struct Row {\n" + row_values_ + "  };\n  struct Item {\n" + item_values_ +
                "  };\n  template <int K, int D = 0>\n  struct reduction;\n" + reductions_ +
                "  template <class A>\n  DLT_FN static void load_row(const A& a, Row& r) {\n" + load_row_ +
                "  }\n  template <class A>\n  DLT_FN static void load(const A& a, Item* x) {\n" + load_ +
                "  }\n  template <class A>\n  DLT_FN static void store_row(const A& a, const Row& r) {\n" + store_row_ +
                "  }\n" + by_phase("  template <int P, class S>\n  DLT_FN static void row(const S& p, Row& r)", row_) +
                by_phase("  template <int P>\n  DLT_FN static void item(const Row& r, Item& x)", item_) +
                by_phase("  template <int P, class A>\n  DLT_FN static void store(const A& a, const Item* x)", store_) +
                "};\n}  // namespace dlt::kernels::program\n";
  }
};

}  // namespace

GroupText print_group(const Program& program, const ProgramGroup& group) { return Printer(program, group).print(); }

}  // namespace dlt::cuda
