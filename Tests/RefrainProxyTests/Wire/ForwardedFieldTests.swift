// SPDX-License-Identifier: MIT
import Refrain
import Testing

@testable import RefrainProxy

@Suite struct ForwardedFieldTests {
  @Test func `Hop-by-hop fields are removed`() {
    let fields = HeaderFields([
      ("Host", "a"), ("Connection", "close, X-Mine"), ("connection", "x-too ,"), ("X-MINE", "1"),
      ("X-Too", "2"), ("Keep-Alive", "timeout=5"), ("Proxy-Connection", "close"),
      ("TE", "trailers"),
      ("Trailer", "X"), ("Transfer-Encoding", "chunked"), ("Upgrade", "h2c"),
      ("Proxy-Authorization", "x"), ("Proxy-Authenticate", "x"), ("Accept", "*/*"), ("accept", "b"),
    ])
    #expect(
      HopByHop.removed(from: fields)
        == HeaderFields([("Host", "a"), ("Accept", "*/*"), ("accept", "b")]))
  }

  @Test func `Connection cannot remove essential fields`() {
    let fields = HeaderFields([
      ("Connection", "Host, Content-Length, AUTHORIZATION, Cache-Control, Range, If-Range, Vary"),
      ("Host", "a"), ("Content-Length", "1"), ("Authorization", "x"), ("Cache-Control", "no-store"),
      ("Range", "bytes=0-1"), ("If-Range", "\"a\""), ("Vary", "*"),
    ])
    var expected = fields
    expected["Connection"] = nil
    #expect(HopByHop.removed(from: fields) == expected)
  }

  @Test func `Cache-Status says how a request was handled`() {
    #expect(CacheStatus.hit.value(node: "refrain") == "refrain; hit")
    #expect(CacheStatus(timeToLive: -5).value(node: "refrain") == "refrain; hit; ttl=-5")
    #expect(
      CacheStatus.forwarded(.uriMiss, isStored: true).value(node: "refrain")
        == "refrain; fwd=uri-miss; stored")
    #expect(
      CacheStatus(forwarded: .stale, forwardedStatus: 304).value(node: "refrain")
        == "refrain; fwd=stale; fwd-status=304")
    #expect(
      CacheStatus(forwarded: .partial, isCollapsed: true, timeToLive: .max).value(node: "refrain")
        == "refrain; fwd=partial; collapsed; ttl=999999999999999")
    #expect(
      CacheStatus(forwarded: .bypass, detail: "a \"b\" \\ é\r\n").value(node: "refrain")
        == "refrain; fwd=bypass; detail=\"a \\\"b\\\" \\\\ ???\"")
    #expect(CacheStatus.forwarded(.method).value(node: "refrain") == "refrain; fwd=method")
    #expect(CacheStatus.forwarded(.request).value(node: "refrain") == "refrain; fwd=request")
    #expect(CacheStatus(key: "http://a/\"b").value(node: "n1") == "n1; hit; key=\"http://a/\\\"b\"")
    let long = CacheStatus(key: String(repeating: "a", count: 513))
    #expect(long.value(node: "n1") == "n1; hit")
  }

  @Test func `The name of a node fits into every field`() {
    for name in ["a", "Refrain", "node-1.example_2", String(repeating: "a", count: 63)] {
      #expect(CacheStatus.isNodeName(name), "\(name)")
    }
    for name in ["", "1a", "-a", "a b", "a;b", "a\"", "é", String(repeating: "a", count: 64)] {
      #expect(!CacheStatus.isNodeName(name), "\(name)")
    }
  }

  @Test func `The client's cache directives are parsed`() {
    let all = RequestDirectives([
      "Cache-Control":
        "No-Cache, no-store,max-age=10 , max-stale, min-fresh=\"5\", only-if-cached, x=\"a,no-x\""
    ])
    #expect(all.noCache && all.noStore && all.onlyIfCached)
    #expect(all.maxAge == 10)
    #expect(all.maxStale == .any)
    #expect(all.minFresh == 5)
  }

  @Test func `The strictest of contradicting directives applies`() {
    let fields = HeaderFields([
      ("Cache-Control", "max-age=10, max-stale=9, min-fresh=1"),
      ("Cache-Control", "max-age=5, max-stale, max-stale=3, min-fresh=2"),
    ])
    let directives = RequestDirectives(fields)
    #expect(directives.maxAge == 5)
    #expect(directives.maxStale == .upTo(3))
    #expect(directives.minFresh == 2)
  }

  @Test func `Invalid directives are ignored, and huge values are limited`() {
    let none = RequestDirectives([
      "Cache-Control": "max-age, max-age=-1, max-age=x, max-stale=x, min-fresh, x=\"no-cache, a"
    ])
    #expect(none == RequestDirectives([:]))
    #expect(RequestDirectives(["Cache-Control": "max-age=99999999999999999999"]).maxAge == 1 << 31)
  }

  @Test func `Pragma applies only without Cache-Control`() {
    #expect(RequestDirectives(["Pragma": "x, No-Cache"]).noCache)
    #expect(!RequestDirectives(["Pragma": "no-cache", "Cache-Control": "max-age=5"]).noCache)
  }
}
