package proxy

import "acp-shim/internal/wire"

// Kind is what a line is by JSON-RPC 2.0: the type of Message.Kind.
type Kind = wire.Kind

// The kinds of lines; see [wire.Kind].
const (
	KindBlank        = wire.Blank
	KindNoise        = wire.Noise
	KindBatch        = wire.Batch
	KindOpaque       = wire.Opaque
	KindRequest      = wire.Request
	KindNotification = wire.Notification
	KindResponse     = wire.Response
)

// Member is one member of an object in a Message; see [wire.Member].
type Member = wire.Member
