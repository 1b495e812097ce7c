// Package wire_test sends arguments past the generated clients:
//
//   - TestArguments: each argument of each function, outside its bounds, gives RLARG and its name.
//   - FuzzArguments, FuzzState: raw arguments and unreadable keys give RLARG, RLSTATE or a reply that the client decodes.
package wire_test
