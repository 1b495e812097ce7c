package identity_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/rlfunc/rlfunc/guard/identity"
)

func ExampleReader_Read() {
	r, err := identity.New(map[string]identity.Identity{
		"ip":     {TrustedProxies: []string{"10.0.0.0/8"}},
		"site":   {IPv6Prefix: 48},
		"device": {Header: "X-Device"},
		"tenant": {Path: "tenant"},
	}, identity.Code{}, identity.Options{})
	if err != nil {
		panic(err)
	}
	defer r.Close()

	request := httptest.NewRequest("GET", "/t/a+b/search", nil)
	request.SetPathValue("tenant", "a+b")
	request.RemoteAddr = "10.0.0.1:4711"
	request.Header.Set("X-Forwarded-For", "2001:db8:1:2::7")
	request.Header.Add("X-Device", "ab12")
	found, err := r.Read(request, request.PathValue)
	fmt.Println(found.Subjects, found.Address, err)
	// Output: [device=ab12 ip=2001:db8:1:2::/64 site=2001:db8:1::/48 tenant=a%2Bb] 2001:db8:1:2::7 <nil>
}

func ExampleValue() {
	fmt.Println(identity.Value("42"), identity.Value("a+b"), identity.Value("a\u202eb"))
	// Output: 42 a%2Bb ~1f7a9d5e8e213a52b4351c2692929344
}
