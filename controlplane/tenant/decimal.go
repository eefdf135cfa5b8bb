package tenant

import (
	"strconv"
	"strings"
)

// Decimal is an exact decimal number that is not negative, in its one canonical form: no
// sign, no exponent, no zero that means nothing ("0", "2.5", "0.000001"). Money is never
// a binary float: a sum of prices must come out as it was agreed.
type Decimal string

// maxWholeDigits is how many digits a Decimal may have before the point.
const maxWholeDigits = 8

// maxExponent is far above what a number within the bounds needs, and keeps 1e999999999
// from being written out.
const maxExponent = 64

// ParseDecimal reads a JSON number (RFC 8259, section 6) exactly. It refuses a negative
// one, and one with more than 8 digits before the point or more than places after it.
func ParseDecimal(field, number string, places int) (Decimal, error) {
	mantissa, exponent, ok := splitExponent(number)
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if !ok || whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return "", outOfBounds(field, places)
	}
	d := shift(whole, fraction, exponent)
	switch whole, fraction, _ = strings.Cut(string(d), "."); {
	case negative && d != "0":
		return "", Invalid(field, "%s must not be negative", field)
	case len(whole) > maxWholeDigits || len(fraction) > places:
		return "", outOfBounds(field, places)
	}
	return d, nil
}

func outOfBounds(field string, places int) error {
	return Invalid(field, "%s must be a number with at most %d digits before the point and %d after it", field, maxWholeDigits, places)
}

func splitExponent(number string) (mantissa string, exponent int, ok bool) {
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return number, 0, true
	}
	exponent, err := strconv.Atoi(number[i+1:])
	return number[:i], exponent, err == nil && -maxExponent <= exponent && exponent <= maxExponent
}

// shift moves the point by the exponent and drops zeros that mean nothing.
func shift(whole, fraction string, exponent int) Decimal {
	if exponent >= 0 {
		fraction += strings.Repeat("0", max(0, exponent-len(fraction)))
		whole, fraction = whole+fraction[:exponent], fraction[exponent:]
	} else {
		whole = strings.Repeat("0", max(0, -exponent-len(whole))) + whole
		at := len(whole) + exponent
		whole, fraction = whole[:at], whole[at:]+fraction
	}
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return Decimal(whole)
	}
	return Decimal(whole + "." + fraction)
}
