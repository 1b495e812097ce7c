package policy

// A Descriptor maps rate limit descriptors of Envoy to an endpoint and to identities; see package envoyguard.
type Descriptor struct {
	// Domain is the domain of the requests. Required.
	Domain string `yaml:"domain" policy:"required,is=parameter"`
	// Entries are 1 to 16 entries that a descriptor must have, in this order and no others. Required.
	Entries []DescriptorEntry `yaml:"entries" policy:"required,items=1..16"`
	// Endpoint is the name of the endpoint whose limits apply. Required.
	Endpoint string `yaml:"endpoint" policy:"required,is=name"`
}

// A DescriptorEntry matches one entry of a descriptor. It has a value or an identity.
type DescriptorEntry struct {
	// Key is the entry's key, such as generic_key or remote_address. Required.
	Key string `yaml:"key" policy:"required,is=parameter"`
	// Value is the only value that matches, 1 to 1024 bytes. It has priority over an identity. Defaults to none.
	Value string `yaml:"value" policy:"is=path"`
	// Identity is the identity that the entry's value has; an address or a header. Any value matches. Defaults to none.
	Identity string `yaml:"identity" policy:"is=identity"`
}
