package rewrite

import (
	"reflect"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"
)

// fields are the members that the schema knows for an object, with what it
// knows of their values. A nil *fields knows nothing of the object.
type fields struct{ types []reflect.Type }

// schema has the params of the client's requests by method. It is only looked at
// when a frame is refused, and not built before.
var schema = sync.OnceValue(func() map[string]*fields {
	table := map[string]*fields{
		// It left the schema; the server still takes it.
		methodSetModel: of[struct {
			SessionID string         `json:"sessionId"`
			ModelID   string         `json:"modelId"`
			Meta      map[string]any `json:"_meta"`
		}](),
		methodInitialize:                of[acp.InitializeRequest](),
		methodAuthenticate:              of[acp.AuthenticateRequest](),
		methodNew:                       of[acp.NewSessionRequest](),
		methodLoad:                      of[acp.LoadSessionRequest](),
		methodResume:                    of[acp.ResumeSessionRequest](),
		methodFork:                      of[acp.UnstableForkSessionRequest](),
		methodSetMode:                   of[acp.SetSessionModeRequest](),
		methodSetConfig:                 of[acp.SetSessionConfigOptionRequest](),
		acp.AgentMethodLogout:           of[acp.LogoutRequest](),
		acp.AgentMethodSessionList:      of[acp.ListSessionsRequest](),
		acp.AgentMethodSessionClose:     of[acp.CloseSessionRequest](),
		acp.AgentMethodSessionDelete:    of[acp.UnstableDeleteSessionRequest](),
		acp.AgentMethodProvidersSet:     of[acp.UnstableSetProviderRequest](),
		acp.AgentMethodProvidersList:    of[acp.UnstableListProvidersRequest](),
		acp.AgentMethodProvidersDisable: of[acp.UnstableDisableProviderRequest](),
	}
	return table
})

func of[T any]() *fields { return &fields{types: variants(reflect.TypeFor[T]())} }

// knownFields are the fields of a method's params, nil for a method that is not
// known.
func knownFields(method string) *fields { return schema()[method] }

// variants are the structs that a type may be on the wire: the SDK writes a
// union as a struct of pointers without names.
func variants(t reflect.Type) []reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var list []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") == "-" && f.Type.Kind() == reflect.Pointer {
			list = append(list, variants(f.Type)...)
		}
	}
	if list == nil {
		list = []reflect.Type{t}
	}
	return list
}

// at is what is known of a member's value.
func (f *fields) at(name string) *fields {
	if f == nil {
		return nil
	}
	var below fields
	for _, t := range f.types {
		for i := range t.NumField() {
			if jsonName(t.Field(i)) == name {
				below.types = append(below.types, variants(t.Field(i).Type)...)
			}
		}
	}
	if below.types == nil {
		return nil
	}
	return &below
}

// element is what is known of the elements where f is about a list: a list and
// what is in it are not told apart.
func (f *fields) element() *fields { return f }

func (f *fields) knows(name string) bool {
	if name == "type" && len(f.types) > 1 {
		return true // tells the variants of a union apart
	}
	for _, t := range f.types {
		for i := range t.NumField() {
			if jsonName(t.Field(i)) == name {
				return true
			}
		}
	}
	return false
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
