package kinds

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// signatureHeader is the header of a signed request.
const signatureHeader = "Skidway-Signature"

// signature gives the value of the header, see [HTTP].
func signature(secret, body string, now time.Time) string {
	stamp := fmt.Sprint(now.Unix())
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "." + body))
	return "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
