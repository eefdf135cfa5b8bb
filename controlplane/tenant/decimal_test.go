package tenant

import (
	"math/big"
	"testing"
)

func TestParseDecimal(t *testing.T) {
	t.Parallel()
	const bounds = "x must be a number with at most 8 digits before the point and 12 after it"
	for _, c := range []struct{ in, want, err string }{
		{"0", "0", ""}, {"-0", "0", ""}, {"0.0", "0", ""}, {"-0.00", "0", ""}, {"2.50", "2.5", ""}, {"10", "10", ""}, {"100.00", "100", ""},
		{"1e2", "100", ""}, {"1.25E+1", "12.5", ""}, {"1e-6", "0.000001", ""}, {"12.5e-3", "0.0125", ""}, {"0e5", "0", ""}, {"0e-64", "0", ""},
		{"0.000000000001", "0.000000000001", ""}, {"99999999.999999999999", "99999999.999999999999", ""},
		{"0.1234567890120", "0.123456789012", ""},
		{"100000000", "", bounds}, {"1e8", "", bounds}, {"0.0000000000001", "", bounds}, {"1e-13", "", bounds},
		{"1e999999999", "", bounds}, {"1e-999999999", "", bounds}, {"1e99999999999999999999", "", bounds},
		{"-0.01", "", "x must not be negative"}, {"-5", "", "x must not be negative"},
		{"", "", bounds}, {"-", "", bounds}, {"1.2.3", "", bounds}, {"NaN", "", bounds}, {"0x10", "", bounds}, {"1_0", "", bounds},
	} {
		got, err := ParseDecimal("x", c.in, 12)
		message := ""
		if err != nil {
			message = err.Error()
		}
		if string(got) != c.want || message != c.err {
			t.Errorf("%q: got %q, %q; want %q, %q", c.in, got, message, c.want, c.err)
		}
	}
	if _, err := ParseDecimal("x", "1.23456", 4); err == nil {
		t.Error("more places than allowed")
	}
}

// FuzzParseDecimal holds it against exact rational arithmetic.
func FuzzParseDecimal(f *testing.F) {
	for _, seed := range []string{"0", "1.5", "12e-3", "3E+2", "-0.0", "00012.3400"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDecimal("x", text, 12)
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(text)
		got, canonical := new(big.Rat).SetString(string(d))
		if !canonical || ok && got.Cmp(want) != 0 {
			t.Fatalf("%q became %q", text, d)
		}
		if again, err := ParseDecimal("x", string(d), 12); err != nil || again != d {
			t.Fatalf("%q is not canonical: %q, %v", d, again, err)
		}
	})
}
