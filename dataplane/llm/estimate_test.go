package llm

import (
	"encoding/json"
	"strings"
	"testing"
)

// Texts with the tokens that OpenAI's o200k_base, whose vocabulary is public, makes of
// them. Claude's tokenizers, whose are not, make more of the same text: a fifth of prose,
// half of code. The estimate is above that for every kind of text, and not beyond reason.
func TestEstimateOfKnownTexts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		times  int
		tokens float64
		most   float64 // times as many as counted
	}{
		"Prose":    {"The quick brown fox jumps over the lazy dog. It was the best of times, it was the worst of times; it was the age of wisdom, it was the age of foolishness. ", 20, 781, 1.7},
		"Chinese":  {"敏捷的棕色狐狸跳过了懒狗。这是最好的时代，也是最坏的时代；这是智慧的时代，也是愚蠢的时代。", 20, 740, 3},
		"Japanese": {"すばやい茶色の狐はのろまな犬を飛び越える。それは最良の時代であり、最悪の時代でもあった。", 20, 760, 3},
		"Korean":   {"날쌘 갈색 여우가 게으른 개를 뛰어넘는다. 최고의 시간이었고 최악의 시간이었다.", 20, 580, 3},
		"Russian":  {"Быстрая коричневая лиса прыгает через ленивую собаку. Это было лучшее из времён, это было худшее из времён.", 20, 701, 4},
		"Arabic":   {"الثعلب البني السريع يقفز فوق الكلب الكسول. كان أفضل الأزمان وكان أسوأ الأزمان.", 20, 520, 4},
		"Emoji":    {"😀🎉🚀👩‍👩‍👧‍👦🇩🇪✨", 40, 840, 2},
		"UUIDs":    {"3f2504e0-4f89-11d3-9a0c-0305e82c3301 ", 40, 1120, 2},
		"Figures":  {"2026-11-30,17.25,-0.004,NaN,1e-9,true\n", 60, 1440, 2},
		"Schema":   {`{"type":"object","properties":{"path":{"type":"string","description":"The absolute path of the file to read"},"limit":{"type":"integer","minimum":1,"maximum":2000},"mode":{"enum":["read","write"]}},"required":["path"],"additionalProperties":false}`, 20, 1200, 2.6},
	} {
		content, err := json.Marshal(strings.Repeat(c.text, c.times))
		if err != nil {
			t.Fatal(err)
		}
		got := float64(Estimate([]byte(`{"content":`+string(content)+`}`))) / c.tokens
		if least := 1.15; got < least || got > c.most {
			t.Errorf("%s: %.2f times what was counted, want %.2f to %.1f", name, got, least, c.most)
		}
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	image := strings.Repeat("iVBORw0KGgo", 30000)
	for name, c := range map[string]struct {
		body      string
		low, high int64
	}{
		"Hi":          {`{"messages":[{"role":"user","content":"Hi"}]}`, 10, 60},
		"Image":       {`{"source":{"type":"base64","data":"` + image + `"}}`, 1600, 20000},
		"DataURL":     {`{"image_url":{"url":"data:image/png;base64,` + image + `"}}`, 1600, 20000},
		"TextInData":  {`{"data":"` + strings.Repeat("words and more words ", 1000) + `"}`, 5000, 9000},
		"NotEvenJSON": {`{"content":"` + strings.Repeat("x", 1000), 300, 600},
	} {
		if got := Estimate([]byte(c.body)); got < c.low || got > c.high {
			t.Errorf("%s: got %d, want %d to %d", name, got, c.low, c.high)
		}
		if quick := estimate([]byte(c.body), true); quick != Estimate([]byte(c.body)) && json.Valid([]byte(c.body)) {
			t.Errorf("%s: %d where it is known to be valid, else %d", name, quick, Estimate([]byte(c.body)))
		}
	}
}
