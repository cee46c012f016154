// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// The package's manifest, as Apple's tools read it.
@Suite struct ManifestTests {
  private static func text(_ path: String) throws -> String {
    try String(contentsOf: PackageFiles.root.appending(path: path), encoding: .utf8)
  }

  @Test func `No two products have names that differ by case alone`() throws {
    let manifest = try Self.text("Package.swift")
    let names = manifest.matches(of: /\.(?:library|executable)\(name: "([^"]+)"/)
      .map { String($0.output.1) }
    #expect(names.contains("refrain") && names.count > 3)
    #expect(Set(names.map { $0.lowercased() }).count == names.count)
  }

  /// The system's functions that need a reason, by category (Apple's "Describing use of required
  /// reason API").
  private static let needs: [String: [String]] = [
    "NSPrivacyAccessedAPICategoryFileTimestamp": [
      "stat(", "lstat(", "fstat(", "fstatat(", "getattrlist", "attributesOfItem",
      "modificationDate", "creationDate", "contentModificationDateKey",
    ],
    "NSPrivacyAccessedAPICategorySystemBootTime": ["systemUptime", "mach_absolute_time"],
    "NSPrivacyAccessedAPICategoryDiskSpace": [
      "statfs(", "statvfs(", "volumeAvailable", "volumeTotal", "systemFreeSize", "systemSize",
      "attributesOfFileSystem",
    ],
    "NSPrivacyAccessedAPICategoryActiveKeyboards": ["activeInputModes"],
    "NSPrivacyAccessedAPICategoryUserDefaults": ["UserDefaults"],
  ]

  /// Returns the categories that the sources of a target use, with the places.
  private static func used(by target: String) throws -> [String: [String]] {
    var used: [String: [String]] = [:]
    for file in PackageFiles.files(in: "Sources/\(target)", withExtension: "swift") {
      let text = try Data(contentsOf: file)
      for (category, names) in needs {
        for name in names where text.range(of: Data(name.utf8)) != nil {
          used[category, default: []].append("\(file.lastPathComponent): \(name)")
        }
      }
    }
    return used
  }

  @Test func `The privacy manifest gives a reason for everything that needs one`() throws {
    let data = try Data(
      contentsOf: PackageFiles.root.appending(path: "Sources/Refrain/PrivacyInfo.xcprivacy"))
    let list = try #require(
      try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
    #expect(list["NSPrivacyTracking"] as? Bool == false)
    let accessed = try #require(list["NSPrivacyAccessedAPITypes"] as? [[String: Any]])
    var reasons: [String: [String]] = [:]
    for type in accessed {
      let category = try #require(type["NSPrivacyAccessedAPIType"] as? String)
      reasons[category] = type["NSPrivacyAccessedAPITypeReasons"] as? [String]
    }
    #expect(reasons == ["NSPrivacyAccessedAPICategoryFileTimestamp": ["C617.1"]])
    #expect(try Set(Self.used(by: "Refrain").keys) == Set(reasons.keys))
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

  @Test(arguments: ["RefrainAVFoundation", "RefrainPlayer", "RefrainProxy", "RefrainServer"])
  func `A target without a privacy manifest uses no API that needs one`(_ target: String) throws {
    #expect(try Self.used(by: target) == [:])
  }
}
