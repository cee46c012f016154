// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

/// The conditions under which tests against system programs and libraries run.
struct RequirementTests {
  @Test func `An installed program is found`() throws {
    let shell = RequiredProgram("sh", environment: ["PATH": "/bin"])
    #expect(shell.isUsable)
    #expect(try shell.path.lastPathComponent == "sh")
  }

  @Test func `A missing program counts as usable only if clients are required`() {
    let name = "refrain-no-such-program"
    #expect(!RequiredProgram(name, environment: [:]).isUsable)
    let required = RequiredProgram(name, environment: ["REFRAIN_REQUIRE_CLIENTS": "1"])
    #expect(required.isUsable)
    #expect(throws: RequiredProgram.Missing.self) { try required.path }
  }

  @Test(arguments: [["PATH": "/bin"], ["PATH": "/bin", "REFRAIN_REQUIRE_CLIENTS": "1"]])
  func `A hidden program is neither usable nor found`(_ environment: [String: String]) {
    let environment = environment.merging(["REFRAIN_HIDE_CLIENTS": "1"]) { $1 }
    let shell = RequiredProgram("sh", environment: environment)
    #expect(!shell.isUsable)
    #expect(throws: RequiredProgram.Missing.self) { try shell.path }
  }

  #if os(Linux)
    @Test func `A library that can be loaded is usable`() {
      #expect(RequiredLibrary("libc.so.6", environment: [:]).isUsable)
    }

    @Test func `A missing library counts as usable only if clients are required`() {
      let name = "librefrain-no-such.so.1"
      #expect(!RequiredLibrary(name, environment: [:]).isUsable)
      #expect(RequiredLibrary(name, environment: ["REFRAIN_REQUIRE_CLIENTS": "1"]).isUsable)
    }

    @Test(arguments: ["0", "1"])
    func `A hidden library is not usable`(_ isRequired: String) {
      let environment = ["REFRAIN_HIDE_CLIENTS": "1", "REFRAIN_REQUIRE_CLIENTS": isRequired]
      #expect(!RequiredLibrary("libc.so.6", environment: environment).isUsable)
    }
  #endif
}
