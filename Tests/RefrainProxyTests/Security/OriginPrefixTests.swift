// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import RefrainProxy

/// A reverse proxy of a part of an origin exposes only that part.
@Suite struct OriginPrefixTests {
  @Test(arguments: [
    "/../x", "/..%2fx", "/..%2Fx", "/a/..%2f..%2fx", "/%2e%2e%2fx", "/%2E.%2Fx", "/..%5cx",
    "/a%5C..%5Cx", "/a%2f..", "/.%2fx", "/..\\x", "/a\\..\\x",
  ])
  func `Dot segments in a path are refused in every spelling`(_ path: String) throws {
    let origin = try #require(URL(string: "https://media.example/open"))
    let httpError = #expect(throws: HTTPError.self) {
      try ProxyURL.parse(target: path, origin: origin)
    }
    #expect(httpError?.status == 400)
  }

  @Test(arguments: ["/a%2Fb", "/..a%2f", "/a..%2f...", "/%5C", "/a%2F%2Fb"])
  func `Other encoded separators are passed to the origin unchanged`(_ path: String) throws {
    let origin = try #require(URL(string: "https://media.example/open"))
    let url = try ProxyURL.parse(target: path, origin: origin)
    #expect(url.absoluteString == "https://media.example/open" + path)
  }
}
