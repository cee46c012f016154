// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// The stand-in for AVFoundation has the declarations of each of Apple's platforms, with their
/// availability. The sources have to compile on all of them.
@Suite struct AvailabilityTests {
  private static let platforms = ["macOS", "iOS", "tvOS", "visionOS"]

  private struct Declaration {
    var name: String
    /// `@available(…)` of the declaration and of the enclosing ones.
    var attributes: [String]

    func isMissing(on platform: String) -> Bool {
      attributes.contains("@available(\(platform), unavailable)")
    }

    /// Major and minor number of the first version of the system that had it.
    func version(on platform: String) throws -> Double? {
      let pattern = try Regex("\\b\(platform) ([0-9]+(\\.[0-9]+)?)")
      for attribute in attributes {
        if let text = attribute.firstMatch(of: pattern)?.output[1].substring { return Double(text) }
      }
      return nil
    }
  }

  private static func declarations() throws -> [Declaration] {
    var found: [Declaration] = []
    var attributes: [String] = []
    for line in try PackageFiles.lines(of: "Tests/AVFoundationStandIn") {
      if line.text.hasPrefix("@available(") {
        attributes.append(line.text)
      } else if !attributes.isEmpty {
        let words = line.words
        let kinds: Set<Substring> = [
          "case", "class", "struct", "enum", "protocol", "let", "var", "func",
        ]
        let index =
          words.lastIndex { kinds.contains($0) && $0 != "class" }
          ?? words.firstIndex { kinds.contains($0) }
        if let index, index + 1 < words.count {
          found.append(Declaration(name: String(words[index + 1]), attributes: attributes))
        }
        attributes = []
      }
    }
    return found
  }

  @Test func `No source uses a declaration that its platform lacks`() throws {
    let declarations = try Self.declarations()
    let sources = try ["Sources/RefrainAVFoundation", "Sources/RefrainPlayer"]
      .flatMap { try PackageFiles.lines(of: $0) }
    try #require(!sources.isEmpty)
    for platform in Self.platforms {
      for declaration in declarations where declaration.isMissing(on: platform) {
        for line in sources where line.isCompiled(on: platform) {
          if line.words.contains(Substring(declaration.name)) {
            Issue.record("\(line.place) uses \(declaration.name), which \(platform) does not have")
          }
        }
      }
    }
    // The checked declarations exist.
    let onMacOS = Set(declarations.filter { $0.isMissing(on: "macOS") }.map(\.name))
    #expect(onMacOS.isSuperset(of: ["AVAudioSession", "mediaServicesWereReset"]))
    let onVisionOS = declarations.filter { $0.isMissing(on: "visionOS") }.map(\.name)
    #expect(onVisionOS == ["allowsExternalPlayback"])
  }

  /// The members of C structs need the import of the module that declares them (SE-0444), which no
  /// module of Linux shows: words, or their beginnings, that occur as nothing else.
  @Test(arguments: [
    (
      "Darwin",
      [
        "st_", "f_bavail", "f_frsize", "tv_", "rlim_cur", "rlim_max", "d_name", "sa_family",
        "s_addr",
        "sin_", "sin6_", "sun_", "ai_", "ifa_", "ws_", "c_cc", "c_iflag", "c_lflag", "c_oflag",
        "c_cflag", "revents", "l_type", "l_start", "l_len", "l_whence", "tm_", "in_addr",
        "in6_addr",
      ]
    ),
    ("CoreGraphics", ["CGSize", "CGRect", "CGPoint", "CGFloat", "presentationSize", "boundsSize"]),
  ])
  func `A source imports the module whose members it uses`(
    _ module: String, _ members: [String]
  ) throws {
    let lines = try PackageFiles.lines(of: "Sources")
    let imports = lines.filter { $0.text == "import \(module)" }
    let uses = lines.filter { line in
      line.words.contains { word in members.contains { word.hasPrefix($0) } }
    }
    #expect(!imports.isEmpty && !uses.isEmpty)
    for platform in Self.platforms {
      let importing = Set(imports.filter { $0.isCompiled(on: platform) }.map(\.file))
      for use in uses where use.isCompiled(on: platform) && !importing.contains(use.file) {
        Issue.record("\(use.place) needs the import of \(module) on \(platform): \(use.text)")
      }
    }
  }

  @Test func `No declaration is newer than the oldest supported system`() throws {
    let file = PackageFiles.root.appending(path: "Package.swift")
    let manifest = try String(contentsOf: file, encoding: .utf8)
    let declarations = try Self.declarations()
    for platform in Self.platforms {
      let oldest = try #require(
        manifest.firstMatch(of: try Regex("\\.\(platform)\\(\\.v(\\d+)\\)"))?.output[1].substring
          .flatMap { Double($0) })
      var count = 0
      for declaration in declarations {
        guard let version = try declaration.version(on: platform) else { continue }
        count += 1
        #expect(version <= oldest, "\(declaration.name) came with \(platform) \(version)")
      }
      #expect(count > 10)
    }
  }

  @Test(arguments: [
    ("os(iOS) || os(tvOS)", ["iOS", "tvOS"]), ("!os(macOS)", ["iOS", "tvOS", "visionOS"]),
    ("canImport(AppKit) && !targetEnvironment(macCatalyst)", ["macOS"]),
    ("os(iOS) || !canImport(AVFoundation)", ["iOS"]),
    ("!(os(iOS) || os(macOS))", ["tvOS", "visionOS"]),
    ("DEBUG", []),
  ])
  func `Platform conditions are evaluated as by the compiler`(
    _ text: String, _ expected: [String]
  ) {
    #expect(Self.platforms.filter { PlatformCondition.holds(text, on: $0) } == expected)
  }
}
