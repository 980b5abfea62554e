# The sources of which fuzzers are made, in `sources`: the targets, and what of the pipeline (`pipeline`) reads files, without
# what runs models. The test fuzz/sources follows their #includes.
get_filename_component(fuzz "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
get_filename_component(pipeline "${fuzz}/../../reference_pipeline" ABSOLUTE)

set(again CONFIGURE_DEPENDS)
if(CMAKE_SCRIPT_MODE_FILE)
  set(again)
endif()
file(GLOB sources ${again} "${fuzz}/*.cpp" "${pipeline}/text/*.cpp" "${pipeline}/image/*.cpp"
                           "${pipeline}/sampling/*.cpp" "${pipeline}/vae/*.cpp")
list(REMOVE_ITEM sources "${fuzz}/test_seeds.cpp")
foreach(file IN ITEMS
    cli/compare/comparison_part cli/options/arguments cli/options/model_path cli/options/policy_options cli/options/policy_table
    cli/picture_settings/comfyui_graph cli/picture_settings/other_programs cli/picture_settings/picture_settings
    cli/picture_settings/remade_command cli/picture_settings/shell_line cli/terminal/output families/hub_cache families/presets
    flux/transformer_config formats/registry language_model/config stable_diffusion/unet_config
    # What casting costs, and plans.
    casting/castable casting/cost_file casting/knapsack casting/plan_file casting/planner
    casting/rank_correlation casting/relaxation cli/casting/cost_table
    # Importance matrices.
    convert/importance
    # Weights with scales beside them.
    weights/bitsandbytes_weight weights/comfy_blocks weights/comfy_rows weights/comfy_weight
    weights/header_announcements weights/layouts
    weights/weight_tensors)
  list(APPEND sources "${pipeline}/${file}.cpp")
endforeach()

# Headers that these include for a type alone: what their sources define is not called.
set(without_source cli/compare/comparison cli/compare/report_page cli/options/given_files cli/running/layer_peaks)
