package payorders

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Amount is an amount in paise. In JSON it is a number of rupees: 49950 is 499.5.
type Amount int64

// mostPaise is where JSON of other languages ceases to be exact.
const mostPaise = 1<<53 - 1

var rupees = regexp.MustCompile(`^([0-9]{1,13})(?:\.([0-9]{1,2})0*)?$`)

// ParseAmount reads an amount in rupees, exactly: "499.50" and "499.5" are 49950 paise.
// A negative amount, more than two decimals and what is no number are errors.
func ParseAmount(text string) (Amount, error) {
	match := rupees.FindStringSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("payorders: %q is no amount in rupees with at most two decimals", text)
	}
	paise, err := strconv.ParseInt(match[1]+(match[2] + "00")[:2], 10, 64)
	if err != nil || paise > mostPaise {
		return 0, fmt.Errorf("payorders: %s is too large", text)
	}
	return Amount(paise), nil
}

// String is the amount in rupees, with two decimals: "499.50".
func (amount Amount) String() string {
	sign, paise := "", int64(amount)
	if paise < 0 {
		sign, paise = "-", -paise
	}
	return fmt.Sprintf("%s%d.%02d", sign, paise/100, paise%100)
}

// MarshalJSON writes a number of rupees, as short as the service writes it: 499.5. A negative amount is an error.
func (amount Amount) MarshalJSON() ([]byte, error) {
	if amount < 0 || amount > mostPaise {
		return nil, fmt.Errorf("payorders: %d is no amount in paise", int64(amount))
	}
	return []byte(strings.TrimSuffix(strings.TrimRight(amount.String(), "0"), ".")), nil
}

// UnmarshalJSON reads a number of rupees, without floating point.
func (amount *Amount) UnmarshalJSON(data []byte) error {
	text := strings.TrimSpace(string(data))
	if text == "null" {
		return nil
	}
	parsed, err := ParseAmount(text)
	if err == nil {
		*amount = parsed
	}
	return err
}
