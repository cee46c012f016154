// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// The package's manifest, as Apple's tools read it.
@Suite struct ManifestTests {
  private static let root: URL = {
    var url = URL(filePath: #filePath)
    while url.pathComponents.count > 1, url.lastPathComponent != "Tests" {
      url.deleteLastPathComponent()
    }
    return url.deletingLastPathComponent()
  }()

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  @Test func `No two products have names that differ by case alone`() throws {
    let manifest = try Self.text("Package.swift")
    let names = manifest.matches(of: /\.(?:library|executable)\(name: "([^"]+)"/)
      .map { String($0.output.1) }
    #expect(names.contains("refrain") && names.count > 3)
    #expect(Set(names.map { $0.lowercased() }).count == names.count)
  }

  @Test func `The tools version supports test names in backticks`() throws {
    let manifest = try Self.text("Package.swift")
    let version = try #require(manifest.firstMatch(of: /swift-tools-version: (\d+)\.(\d+)/))
    let (major, minor) = (Int(version.output.1) ?? 0, Int(version.output.2) ?? 0)
    // Names in backticks came with 6.2 (SE-0451).
    #expect((major, minor) >= (6, 2))
  }

  @Test func `The privacy manifest gives the reason for reading file dates`() throws {
    let data = try Data(
      contentsOf: Self.root.appending(path: "Sources/Refrain/PrivacyInfo.xcprivacy"))
    let list = try #require(
      try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
    #expect(list["NSPrivacyTracking"] as? Bool == false)
    let accessed = try #require(list["NSPrivacyAccessedAPITypes"] as? [[String: Any]])
    #expect(
      accessed.map { $0["NSPrivacyAccessedAPIType"] as? String }
        == ["NSPrivacyAccessedAPICategoryFileTimestamp"])
    #expect(accessed.map { $0["NSPrivacyAccessedAPITypeReasons"] as? [String] } == [["C617.1"]])
    #expect(try Self.text("Package.swift").contains(#".copy("PrivacyInfo.xcprivacy")"#))
  }

  @Test func `The hosted workflow builds every library for every platform of the package`() throws {
    let workflow = try Self.text(".github/workflows/ci.yml")
    func list(_ name: String) throws -> [String] {
      let line = try #require(workflow.firstMatch(of: try Regex("\\b\(name): \\[(.*)\\]")))
      return (line.output[1].substring ?? "").split(separator: ",")
        .map { $0.trimmingCharacters(in: .whitespaces) }
    }
    let manifest = try Self.text("Package.swift")
    let libraries = manifest.matches(of: /\.library\(name: "([^"]+)"/).map { String($0.output.1) }
    // The origin is for tests, which the macOS job runs.
    #expect(try Set(list("scheme")) == Set(libraries).subtracting(["OriginServer"]))
    let line = try #require(manifest.split(separator: "\n").first { $0.contains("platforms: [") })
    for platform in line.matches(of: /\.(\w+)\(\.v/).map(\.output.1) where platform != "macOS" {
      #expect(try list("platform").contains(String(platform)))
    }
  }

  @Test(arguments: ["RefrainAVFoundation", "RefrainPlayer", "RefrainProxy"])
  func `A target without a privacy manifest uses no API that needs one`(_ target: String) throws {
    let files = FileManager.default.enumerator(
      at: Self.root.appending(path: "Sources/\(target)"), includingPropertiesForKeys: nil)
    let needs = [
      "stat(", "lstat(", "fstat(", "getattrlist", "attributesOfItem", "modificationDate",
      "creationDate", "systemUptime", "mach_absolute_time", "statfs", "statvfs", "volumeAvailable",
      "UserDefaults", "activeInputModes",
    ]
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift" else { continue }
      let text = try String(contentsOf: file, encoding: .utf8)
      for need in needs where text.contains(need) {
        Issue.record("\(file.lastPathComponent) uses \(need)")
      }
    }
  }
}
