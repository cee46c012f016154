// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// The parameters of a URL that are a signature, and those that are not.
@Suite struct SignaturesOfURLsTests {
  private func signature(_ query: String) throws -> URLSignature {
    URLSignature(of: try #require(URL(string: "https://h.example/a/b%20c.ts\(query)")))
  }

  private static let amazon =
    "X-Amz-Algorithm=A&X-Amz-Credential=C%2F1&X-Amz-Date=D&X-Amz-Expires=60"
    + "&X-Amz-SignedHeaders=host&X-Amz-Signature=S&X-Amz-Security-Token=T"

  @Test(arguments: [
    ("?\(amazon)", ""),
    ("?v=1&\(amazon)&w=2", "?v=1&w=2"),
    ("?X-Goog-Algorithm=A&X-Goog-Credential=C&X-Goog-Date=D&X-Goog-Signature=S&b", "?b"),
    ("?AWSAccessKeyId=K&Expires=1&Signature=S&versionId=9", "?versionId=9"),
    ("?GoogleAccessId=K&Expires=1&Signature=S", ""),
    ("?Expires=1&KeyName=k&Signature=S&a=1", "?a=1"),
    ("?a=1&Expires=1&Signature=S&Key-Pair-Id=K", "?a=1"),
    ("?Policy=P&Signature=S&Key-Pair-Id=K&a=1", "?a=1"),
    ("?hdnts=exp=1~acl=*~hmac=2&a=1", "?a=1"),
    ("?hdnea=1&hdntl=2&__token__=3&a", "?a"),
    ("?sv=2022&ss=b&se=2030&sp=r&sig=x%3D&rscd=file", "?rscd=file"),
    ("?sv=2022&si=policy&sr=b&sig=x", ""),
    ("?token=1", ""),
    ("?a=1&token=1&b=2&token=2", "?a=1&b=2"),
    ("?X%2DAmz%2DSignature=S&X-Amz-Credential=C&a", "?a"),
    ("?token=1&_HLS_msn=7", "?_HLS_msn=7"),
    ("?token=1#t=10", ""),
  ])
  func `A signature is no part of the common key`(_ query: String, _ rest: String) throws {
    let signature = try signature(query)
    #expect(signature.isSigned)
    #expect(signature.key.rawValue == "https://h.example/a/b%20c.ts\(rest)")
    let url = try #require(URL(string: "https://h.example/a/b%20c.ts\(query)"))
    #expect(signature.ownKey == CacheKey(url: url))
  }

  @Test(arguments: [
    "", "?", "?a=1", "?Expires=1", "?Expires=1&Signature=S", "?Signature=S&Key-Pair-Id=K",
    "?Policy=P&Key-Pair-Id=K", "?X-Amz-Date=D&X-Amz-Expires=60", "?X-Amz-Signature=S",
    "?sig=1", "?sv=1&se=2", "?se=1&sig=2", "?Token=1", "?tokens=1", "?a=token", "?a=token=1",
    "?token1=1", "?hdn=1",
  ])
  func `A URL without a whole signature keeps its key`(_ query: String) throws {
    let signature = try signature(query)
    #expect(!signature.isSigned)
    let url = try #require(URL(string: "https://h.example/a/b%20c.ts\(query)"))
    #expect(signature.key == CacheKey(url: url))
    #expect(signature.ownKey != signature.key)
  }

  @Test(arguments: [
    ("?\(amazon)", "", true), ("?hdnts=1", "?hdnts=2", true), ("?__token__=1", "?hdnea=2", true),
    ("?token=1", "?token=1", true), ("?token=1&hdnts=1", "?hdnts=2&token=1", true),
    ("?token=1", "?token=2", false), ("?token=1", "", false), ("", "?token=1", false),
    ("?token=1&hdnts=1", "?token=2&hdnts=1", false), ("?t%6Fken=1", "?token=2", false),
    ("?token=1&token=2", "?token=1", false), ("?token=1", "?\(amazon)", false),
  ])
  func `Only a parameter of many meanings may select content`(
    _ one: String, _ other: String, _ isAlike: Bool
  ) throws {
    let (one, other) = try (signature(one), signature(other))
    #expect(one.differsInRightsAlone(from: ["hdnts=0&token=0", other.text]) == isAlike)
    #expect(!one.differsInRightsAlone(from: []))
  }

  @Test func `Signatures are equal only if every parameter is`() throws {
    let one = try signature("?a=1&Expires=1&Signature=S&Key-Pair-Id=K")
    #expect(try signature("?Expires=1&a=2&Signature=S&Key-Pair-Id=K").text == one.text)
    #expect(try signature("?a=1&Expires=2&Signature=S&Key-Pair-Id=K").text != one.text)
    #expect(try signature("?a=1&Expires=1&Signature=T&Key-Pair-Id=K").text != one.text)
  }
}
