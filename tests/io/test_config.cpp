// Config files: typed getters that name file and key, and JSON that is not taken on trust.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <io/input_errors.hpp>
#include <support/temporary_folder.hpp>

#include <precast/io/config.hpp>
#include <precast/io/message.hpp>
#include <precast/io/unset_keys.hpp>

using namespace precast;
using precast::testing::refusal;
using precast::testing::TemporaryFolder;
using precast::testing::write_text;

namespace {

const std::filesystem::path file = "/model/config.json";

io::Config config(const std::string& text) { return {file, nlohmann::json::parse(text)}; }

void check_refusal(const std::string& expected, const std::string& text,
                   const std::function<void(const io::Config&)>& read) {
  INFO(text);
  CHECK(refusal(file, [&] { read(config(text)); }) == "/model/config.json: " + expected);
}

}  // namespace

TEST_CASE("messages: a file's text has no control characters, and is cut between two characters") {
  CHECK(io::printable("a\x1b[2J\n\xc2\x9b\xc3\xa9\x7f\xc2\xa0") == "a?[2J??\xc3\xa9?\xc2\xa0");
  CHECK(io::printable("\xc2\x80\xc2\x9f\xc2\xa0\xc2") == "??\xc2\xa0\xc2");
  CHECK(io::printable("\u00e9\u00e9", 4) == "\u00e9\u00e9");
  CHECK(io::printable("\u00e9\u00e9", 3) == "\u00e9...");
  CHECK(io::printable("\u009b\u009b", 3) == "?...");
  CHECK(io::printable("\u00e9", 1) == "...");
  // What turns the order of the characters after it, or ends a line; marks that letters need stay.
  CHECK(io::printable("a\u202egnp.exe\u202c\u2066\u2069\u2028\u2029") == "a?gnp.exe?????");
  CHECK(io::printable("\u2027\u202f\u2065\u206a\u200f\u200d") == "\u2027\u202f\u2065\u206a\u200f\u200d");
  CHECK(io::printable("\u202e\u202e", 4) == "?...");
  CHECK(io::printable("\xe2\x80") == "\xe2\x80");
  CHECK(io::printable("", 0).empty());
}

TEST_CASE("config: the numbers of Python's json that JSON does not have are named") {
  const auto said = [](const std::string& text) {
    return refusal(file, [&] { io::parse_json(text, file); });
  };
  const std::string end = ": write another number, or null";
  CHECK(said(R"({"a": NaN})") ==
        "/model/config.json: not valid JSON, which does not allow the number NaN at byte 7" + end);
  CHECK(said(R"({"a": [1, Infinity]})") ==
        "/model/config.json: not valid JSON, which does not allow the number Infinity at byte 11" + end);
  CHECK(said(R"({"a": -Infinity})") ==
        "/model/config.json: not valid JSON, which does not allow the number Infinity at byte 8" + end);
  CHECK(said(R"({"a": None})") == "/model/config.json: not valid JSON, at byte 7 of 11: get the file again");
}

TEST_CASE("config: values of every type, and null as absent") {
  const io::Config c =
      config(R"({"i":-3,"n":2.5,"whole":4,"b":true,"s":"gelu","l":[1,2],"t":["a","b"],"o":{"x":7},
                                  "null":null,"large":9223372036854775807})");
  CHECK(c.integer("i", -3, 3) == -3);
  CHECK(c.integer("large", 0, std::numeric_limits<std::int64_t>::max()) ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(c.number("n", 0, 3) == 2.5);
  CHECK(c.number("whole", 0, 4) == 4);
  CHECK(c.boolean("b"));
  CHECK(c.string("s") == "gelu");
  CHECK(c.integers("l", 1, 2) == std::vector<std::int64_t>{1, 2});
  CHECK(c.strings("t") == std::vector<std::string>{"a", "b"});
  CHECK(c.object("o").integer("x", 0, 9) == 7);
  CHECK_FALSE(c.has("null"));
  CHECK_FALSE(c.has("absent"));
  CHECK(c.integer_or("null", 5, 0, 9) == 5);
  CHECK(c.number_or("absent", 0.5, 0, 1) == 0.5);
  CHECK(c.boolean_or("absent", true));
  CHECK_FALSE(c.boolean_or("null", true));
  CHECK(c.string_or("absent", "x") == "x");
  CHECK_FALSE(c.optional_integer("null", 0, 1).has_value());
  CHECK(c.optional_integer("whole", 0, 9) == 4);
  CHECK(c.optional_number("n", 0, 3) == 2.5);
  CHECK_FALSE(c.optional_number("absent", 0, 1).has_value());
  CHECK(c.optional_string("s") == "gelu");
  CHECK_FALSE(c.optional_string("null").has_value());
  CHECK(c.one_of_or("s", 0, {{"relu", 1}, {"gelu", 2}}) == 2);
  CHECK(c.one_of_or("null", 3, {{"relu", 1}}) == 3);
  CHECK(c.numbers("l", 0, 2) == std::vector<double>{1, 2});
  CHECK(c.has_list("l"));
  CHECK_FALSE(c.has_list("s"));
  CHECK(c.is_null("null"));
  CHECK_FALSE(c.is_null("absent"));
  const io::Config inner = config(R"({"a":[{"b":"inf"}]})").objects("a").at(0);  // outlives the whole
  CHECK(inner.number("b", 0, 1, io::NotFinite::taken) == std::numeric_limits<double>::infinity());
}

TEST_CASE("config: what does not fit is refused with file and key") {
  const auto integer = [](const io::Config& c) { c.integer("x", 1, 64); };
  check_refusal("key 'x': is missing: get the file again, or check that it belongs to this kind of model",
                "{}", integer);
  check_refusal("key 'x': is null: get the file again, or check that it belongs to this kind of model",
                R"({"x":null})", integer);
  for (const std::string value :
       {"0", "65", "-1", "\"3\"", "true", "2.0", "1e3", "9223372036854775808", "18446744073709551615"})
    check_refusal("key 'x': must be an integer from 1 to 64, not " + nlohmann::json::parse(value).dump() +
                      ": correct it",
                  "{\"x\":" + value + "}", integer);
  check_refusal("key 'x': must be an integer from 1 to 64, not a list: correct it", R"({"x":[3]})", integer);
  check_refusal(
      "key 'x': must be an integer from 1 to 64, not \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...: correct "
      "it",
      "{\"x\":\"" + std::string(500, 'a') + "\"}", integer);

  const auto number = [](const io::Config& c) { c.number_or("x", 1, 0, 10); };
  check_refusal("key 'x': must be a number from 0 to 10, not 10.5: correct it", R"({"x":10.5})", number);
  check_refusal("key 'x': must be a number from 0 to 10, not \"3\": correct it", R"({"x":"3"})", number);
  check_refusal("key 'x': must be a number from 0 to 10, not true: correct it", R"({"x":true})", number);
  check_refusal("key 'x': must be true or false, not 1: correct it", R"({"x":1})",
                [](const io::Config& c) { c.boolean("x"); });
  check_refusal("key 'x': must be a string, not 1: correct it", R"({"x":1})",
                [](const io::Config& c) { c.string("x"); });
  check_refusal("key 'x': must be a list, not 1: correct it", R"({"x":1})",
                [](const io::Config& c) { c.integers("x", 0, 9); });
  check_refusal("key 'x[1]': must be an integer from 0 to 9, not 10: correct it", R"({"x":[1,10]})",
                [](const io::Config& c) { c.integers("x", 0, 9); });
  check_refusal("key 'x[0]': must be a number of at least 0.5, not 0.25: correct it", R"({"x":[0.25]})",
                [](const io::Config& c) { c.numbers("x", 0.5, std::numeric_limits<double>::max()); });
  check_refusal("key 'x[1]': must be a string, not 1: correct it", R"({"x":["a",1]})",
                [](const io::Config& c) { c.strings("x"); });
  check_refusal("key 'x[1]': must be an object, not null: correct it", R"({"x":[{},null]})",
                [](const io::Config& c) { c.objects("x"); });
  check_refusal("key 'o.x[1].y': must be a string, not 2: correct it", R"({"o":{"x":[{},{"y":2}]}})",
                [](const io::Config& c) { c.object("o").objects("x").at(1).optional_string("y"); });
  check_refusal("key 'x': must be a number from 0 to 1, \"inf\" or \"nan\", not \"-inf\": correct it",
                R"({"x":"-inf"})", [](const io::Config& c) { c.number("x", 0, 1, io::NotFinite::taken); });
  check_refusal("key 'x': is 'c', where a or b is expected: correct it", R"({"x":"c"})",
                [](const io::Config& c) {
                  c.one_of_or("x", 0, {{"a", 1}, {"b", 2}});
                });
  check_refusal("key 'x': must be an object, not false: correct it", R"({"x":false})",
                [](const io::Config& c) { c.object("x"); });
  check_refusal("key 'x.y': must be a string, not an object: correct it", R"({"x":{"y":{}}})",
                [](const io::Config& c) { c.object("x").string("y"); });
  const std::string anew = ": get the file again, or check that it belongs to this kind of model";
  check_refusal("must hold a JSON object, not a list" + anew, "[]", [](const io::Config&) {});
  CHECK(refusal(file, [] { io::Config::of_part("{}", file, "header").value("x"); }) ==
        "/model/config.json: header: key 'x': is missing: get the file again");
}

TEST_CASE("config: of a file of Precast's own, messages say which is wanted") {
  const auto said = [](const std::string& text) {
    return refusal(file, [&] { io::Config::of_own(text, file, "a plan (precast plan)").value("x"); });
  };
  const std::string path = "/model/config.json: ", advice = ": check that this is a plan (precast plan)";
  CHECK(said("layer,type\n") == path + "is not JSON: give a plan (precast plan)");
  CHECK(said("\xEF\xBB\xBF [1") ==
        path + "not valid JSON, because it is cut off after byte 6: get the file again");
  CHECK(said("[1]") == path + "must hold a JSON object, not a list" + advice);
  CHECK(said("{}") == path + "key 'x': is missing" + advice);
}

TEST_CASE("config: files that are no JSON objects are refused") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "config.json";
  const auto refused = [&](const std::string& content, const std::string& words) {
    write_text(path, content);
    const std::string message = refusal(path, [&] { io::Config::load(path); });
    INFO(message);
    CHECK(message.find(words) != std::string::npos);
  };
  refused("", "not valid JSON");
  refused("{\"a\":1", "not valid JSON, because it is cut off after byte 6");
  refused("{\"a\":\"\n\"}", "not valid JSON");
  refused(R"({"a":1,"a":2})", "key 'a' appears twice");
  refused(R"({"a":{"b":1,"b\u0000":1,"b":1}})", "key 'b' appears twice");
  refused("{\"a\":1e400}", "number that is out of range");
  refused(std::string(100'000, '['), "deeper than 64 levels");
  refused("{\"a\":" + std::string(64, '[') + std::string(64, ']') + "}", "deeper than 64 levels");
  refused("\"text\"", "must hold a JSON object");
  write_text(path, "{\"a\":" + std::string(63, '[') + std::string(63, ']') + "}");
  CHECK(io::Config::load(path).has("a"));

  CHECK(refusal(folder.path(), [&] { io::Config::load(folder.path()); }).find("is a folder") !=
        std::string::npos);
  const std::filesystem::path absent = folder.path() / "absent.json";
  CHECK(refusal(absent, [&] { io::Config::load(absent); }).find("No such file") != std::string::npos);
}

TEST_CASE("config: a damaged file is read or refused, and never crashes") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "config.json";
  const std::string good = R"({"num_layers": 19, "axes_dims_rope": [16, 56, 56], "guidance_embeds": true,
    "shift": 3.0, "name": "flux\u00e9", "nested": {"a": [1, {"b": null}]}})";
  std::mt19937 random(3);
  int read = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    write_text(path, precast::testing::damaged(good, random));
    try {
      const io::Config c = io::Config::load(path);
      c.integer("num_layers", 1, 100);
      c.integers("axes_dims_rope", 2, 512);
      c.boolean("guidance_embeds");
      c.number("shift", 0.01, 100);
      c.string("name");
      c.object("nested");
      ++read;
    } catch (const InputError& error) {
      ++refused;
      if (!precast::testing::is_one_line(error.what())) FAIL_CHECK(error.what());
    }
  }
  CHECK(read > 0);
  CHECK(refused > 2000);
}

TEST_CASE("config: keys that _use_default_values names are taken out, and a wrong list of them is refused") {
  const auto read = [](const std::string& text) { return io::without_unset_keys(config(text)).json(); };
  CHECK(read(R"({"a": 1, "b": 2, "_use_default_values": ["b", "c"]})") ==
        nlohmann::json::parse(R"({"a": 1, "_use_default_values": ["b", "c"]})"));
  CHECK(read(R"({"a": 1, "_use_default_values": []})").contains("a"));
  CHECK(read(R"({"a": null})").contains("a"));
  CHECK(io::without_unset_keys(config("{}")).path() == file);
  const auto take = [](const io::Config& one) { io::without_unset_keys(one); };
  check_refusal("key '_use_default_values': must be a list, not \"b\": correct it",
                R"({"_use_default_values": "b"})", take);
  check_refusal("key '_use_default_values[0]': must be a string, not 3: correct it",
                R"({"_use_default_values": [3]})", take);
  check_refusal(
      "key '_use_default_values': is null, where a value is needed: write the model's value, or remove the "
      "key to get the default",
      R"({"_use_default_values": null})", take);
}
