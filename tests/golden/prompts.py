"""200 prompts that ask tokenizers awkward questions."""

HAND_WRITTEN = [
    "", " ", "   ", "\t", "\n", " \t\r\n ", "\u00a0", "\u3000", "\u200b", "\ufeff",
    "a", "A", "a cat", "A CAT SITS ON THE MAT", "a cat ", "  a   cat  sits ", "a\tcat\nsits\r\nhere",
    "a large red circle on a blue background, at the left", "A photograph of a mountain lake at sunrise, 35mm",
    "don't", "DON'T", "it'S", "we've they're I'm he'd she'll who's", "'s 't 're 've 'm 'll 'd", "'S 'T 'RE 'VE 'M 'LL 'D",
    "rock'n'roll o'clock l'église", "’s don’t ‘quoted’ “double”", "''s", "' s", "dogs' toys",
    "&amp; &lt;b&gt; &quot;x&quot; &#39; &nbsp; &eacute;", "&amp;amp;", "AT&T & Co.",
    "0 1 12 123 1234567890", "3.14159, 1e-5, 10%", "v1.2.3-beta+build.7", "½ ¾ ² ³ ₁ ① Ⅳ ٣ ४ ๕ 〇", "1,000,000.00 $ € £ ¥ ₹",
    "!", "!!!", "...", "…", "?!?!?!", "-----", "— – ‐ ‑ −", "(((a)))", "a,b;c:d.e!f?g", "#hashtag @user http://example.org/a?b=c&d=e#f",
    "C:\\path\\file.txt", "`code` ~tilde^ |pipe|", "\"quoted\"", "*(bold:1.3)* [cat|dog]", "$#@!%^&*()_+",
    "_snake_case_ kebab-case CamelCase",
    "<|endoftext|>", "<|startoftext|>", "a <|endoftext|> b", "a<|endoftext|>b", "<|startoftext|>a cat<|endoftext|>", "<|ENDOFTEXT|>",
    "< |endoftext| >", "<|endoftext|", "</s>", "a </s> b", "a</s>b", "<s>", "<pad>", "<pad><pad>", "<unk>", "a <unk> b", "<extra_id_0>",
    "a <extra_id_0> cat <extra_id_1> mat", "x<extra_id_3>y", "<extra_id_99>", "<extra_id_100>", "<EXTRA_ID_0>", "</w>", "cat</w> mat", "▁", "▁cat ▁ mat", "a▁b",
    "Le chat dort près de la fenêtre", "Où est passé le garçon ?", "Der große Bär läuft über die Straße", "STRASSE GROẞ ẞ ß",
    "¿Dónde está la canción?", "Żółta łódka", "Příliš žluťoučký kůň", "İstanbul'da ılık", "I İ ı i", "DİYARBAKIR IĞDIR", "Pieni punainen talo",
    "Красная лодка плывёт", "КРАСНАЯ ЛОДКА", "Ένα μικρό κόκκινο σπίτι", "ΟΔΥΣΣΕΥΣ ΣΑΣ Σ", "ὈΔΥΣΣΕΎΣ", "ציור של ירח מעל הים", "שָׁלוֹם", "قمر كبير فوق البحر", "السَّلَامُ عَلَيْكُمْ",
    "mixed عربي and English ירח text", "एक लाल नाव नदी पर", "क्षत्रिय हिन्दी", "สีแดงบนพื้นหลัง", "தமிழ் எழுத்து", "ქართული ენა", "Հայերեն լեզու", "አማርኛ ፊደል", "ᏣᎳᎩ ꮳꮃꭹ",
    "青い空の下で、小さな赤い家", "月が海の上に出て、猫は眠る。", "カタカナ ｶﾀｶﾅ ガ ｶﾞ", "一只红色的小船", "月亮在海上，房子的门是蓝色的。", "「引用」『本』【題】", "푸른 하늘 아래", "𠮷野家 𩸽",
    "Một con mèo nhỏ", "e\u0301 o\u0302\u0301 n\u0303", "\u00e9 \u1ed1 \u00f1", "a\u0300\u0301\u0302\u0303\u0304", "\u0301", " \u0301a", "Å \u212b A\u030a", "\u1e9b\u0323", "z\u0335a\u0336l\u0337g\u0338o\u0321",
    "Ａ ｆｕｌｌ－ｗｉｄｔｈ ｃａｔ １２３！", "ﬁne ﬂow oﬀer aﬃx ﬆar ĳ ǆ", "㍿ ㈱ ㎏ ℃ № ™ ℡", "x² + y₃ = 10⁻⁵", "𝒜 𝔅 𝕮 𝟙 𝟘", "K \u212a Ω \u2126", "ſ long s ſt", "ŉ Ǆ ǅ ǆ",
    "🙂", "🙂🙃", "a 🐱 on a 🛶", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈 🇫🇷🇯🇵", "❤️ ❤", "☀☁☂ ★☆ ●○ ■□ ▲△", "→ ← ↑ ↓ ⇒ ∀ ∃ ∈ ∑ ∞ ≠ ≤", "♔♕♖ ♠♥ 🂡 🀄", "1️⃣ #️⃣",
    "zero\u200bwidth", "zero\u200cwidth\u200djoiner", "soft\u00adhyphen", "word\u2060joiner", "left\u200eto\u200fright", "\u202eoverride\u202c", "\ufeffbom", "non\u00a0breaking", "thin\u2009space\u202fnarrow\u2003em", "line\u2028separator\u2029para", "next\u0085line", "vertical\x0btab\x0cfeed",
    "bell\x07", "\x01\x02control\x1f", "del\x7fete", "esc\x1b[31mred\x1b[0m", "nul\x00inside", "\x1c\x1d\x1e\x1f", "replacement \ufffd char", "private \ue000 use", "unassigned \u0378", "\U0010ffff", "noncharacter \ufffe",
    "ǺŻ ÀÉÎÕÜ àéîõü ÆØÅ æøå ÞÐ þð", "NAÏVE Café RÉSUMÉ", "ﷺ", "ﻻ ﺍ", "ๆ ำ", "ཨོཾ", "꙰ a꙰", "\u3099か か\u3099 が", "ᄒ\u1161\u11ab 한",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "supercalifragilisticexpialidocious antidisestablishmentarianism",
]


def prompts():
  """The list of 200, in a fixed order."""
  caption = "a large red circle on a blue background, at the left, "
  made = [
      caption * 8,  # over 77 tokens of CLIP
      caption * 60,  # over 512 tokens of T5
      "a " * 75 + "b", "a " * 76, "a " * 200, "!" * 300, "🙂" * 150, "x" * 1500, " " * 500 + "a", "1" * 90,
      "月" * 600, "é" * 100, "e\u0301" * 40, "don't " * 30, "<extra_id_0>" * 80, "<|endoftext|>" * 80,
      " ".join(chr(c) for c in range(0x21, 0x7f)), "".join(chr(c) for c in range(0xa1, 0x100)),
      "".join(chr(c) for c in range(0x390, 0x3d0)), "".join(chr(c) for c in range(0x410, 0x450)),
  ]
  every = HAND_WRITTEN + made
  if len(every) != 200 or len(set(every)) != 200:
    raise ValueError(f"expected 200 different prompts, found {len(set(every))} of {len(every)}")
  return every
